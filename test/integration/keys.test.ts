import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type ApiClient } from "../support/api-client.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface ShownKey extends Record<string, unknown> {
  id: string;
  key: string;
}

describe("keys", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  async function make(body: object, by: ApiClient = gateway): Promise<ShownKey> {
    const answer = await by.post("/api/v1/keys", { name: "k", scopes: ["read"], ...body });
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    return answer.json as ShownKey;
  }
  const remove = (id: string, by: ApiClient = gateway) => by.request("DELETE", `/api/v1/keys/${id}`);

  it("are shown once when they are made, and work at once with their scopes", async () => {
    const made = await make({ name: "shop", scopes: ["publish", "read"], tenant_id: "acme" });
    expect(made).toEqual({
      id: expect.stringMatching(/^key_/),
      name: "shop",
      prefix: made.key.slice(0, 8),
      scopes: ["publish", "read"],
      tenant_id: "acme",
      status: "active",
      created_at: expect.stringMatching(/Z$/),
      expires_at: null,
      revoked_at: null,
      key: expect.stringMatching(/^phk_[\w-]{43}$/),
    });
    const shop = gateway.as(made.key);
    expect((await shop.publish({ event_type: "a.b", payload: {} })).status).toBe(202);
    expect((await shop.get("/api/v1/events")).status).toBe(200);
    expect((await shop.get("/api/v1/keys")).status).toBe(403);
    const { key, ...rest } = made;
    const [one, all] = [await gateway.get(`/api/v1/keys/${made.id}`), await gateway.get("/api/v1/keys")];
    expect(one.json).toEqual(rest);
    for (const { text } of [one, all]) {
      expect(text).not.toContain(key);
      expect(text).not.toContain("hash");
    }
    expect(gateway.logText()).not.toContain(key);
  });

  it("are listed by age and page by page, of one tenant too", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await make({ tenant_id: "listed" })).id);
    const first = (await gateway.get("/api/v1/keys?tenant_id=listed&limit=2")).json;
    const next = (await gateway.get(`/api/v1/keys?tenant_id=listed&limit=2&cursor=${String(first["next_cursor"])}`))
      .json;
    const shown = [first, next].flatMap(({ data }) => (data as ShownKey[]).map(({ id }) => id));
    expect(shown).toEqual(ids);
    expect(next["next_cursor"]).toBeNull();
  });

  it("do nothing any more from the moment they are revoked, and stay so over a restart", async () => {
    const { id, key } = await make({ scopes: ["admin"] });
    const own = gateway.as(key);
    expect((await own.get("/api/v1/events")).status).toBe(200);
    expect((await remove(id)).json).toMatchObject({ id, status: "revoked", revoked_at: expect.stringMatching(/Z$/) });
    expect((await own.get("/api/v1/events")).status).toBe(401);
    expect((await own.publish({ event_type: "a.b", payload: {} })).status).toBe(401);
    const revokedAt = (await gateway.get(`/api/v1/keys/${id}`)).json["revoked_at"];
    expect((await remove(id)).json["revoked_at"]).toBe(revokedAt);
    await gateway.restart();
    expect((await own.get("/api/v1/events")).status).toBe(401);
    expect((await remove("key_nobody")).status).toBe(404);
  });

  it("end when their time is over", async () => {
    const { id, key } = await make({ expires_at: new Date(gateway.now() + 3_600_000).toISOString() });
    expect((await gateway.as(key).get("/api/v1/events")).status).toBe(200);
    gateway.moveClock(3_600_000);
    await until(async () => (await gateway.as(key).get("/api/v1/events")).status === 401);
    expect((await gateway.get(`/api/v1/keys/${id}`)).json["status"]).toBe("expired");
  });

  it("are rejected with the field that is wrong, and nothing is stored", async () => {
    const wrong: [object, string][] = [
      [{ name: "" }, "name"],
      [{ name: "a\u0000b" }, "name"],
      [{ scopes: [] }, "scopes"],
      [{ scopes: ["root"] }, "scopes.0"],
      [{ scopes: ["read", "read"] }, "scopes"],
      [{ tenant_id: "" }, "tenant_id"],
      [{ tenant_id: "nul\u0000" }, "tenant_id"],
      [{ expires_at: "tomorrow" }, "expires_at"],
      [{ expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
      [{ hash: "x" }, "hash"],
    ];
    const count = async () => ((await gateway.get("/api/v1/keys?limit=500")).json["data"] as object[]).length;
    const before = await count();
    for (const [body, field] of wrong) {
      const answer = await gateway.post("/api/v1/keys", { name: "k", scopes: ["read"], ...body });
      expect([body, answer.status, answer.json["field"]]).toEqual([body, 422, field]);
    }
    expect(await count()).toBe(before);
  });

  it("that are bound manage those of their tenant only, and make none that could do more", async () => {
    const admin = gateway.as((await make({ scopes: ["admin"], tenant_id: "acme" })).key);
    const theirs = await make({ tenant_id: "victim" });
    const unbound = await make({});
    const child = await make({ scopes: ["admin"] }, admin);
    expect(child["tenant_id"]).toBe("acme");
    for (const tenant_id of ["victim", null]) {
      const refused = await admin.post("/api/v1/keys", { name: "x", scopes: ["read"], tenant_id });
      expect([refused.status, refused.json["field"]]).toEqual([403, "tenant_id"]);
    }
    for (const { id } of [theirs, unbound]) {
      expect((await admin.get(`/api/v1/keys/${id}`)).status).toBe(404);
      expect((await remove(id, admin)).status).toBe(404);
      expect((await gateway.get(`/api/v1/keys/${id}`)).json["status"]).toBe("active");
    }
    const list = await admin.get("/api/v1/keys?tenant_id=victim&limit=500");
    expect(new Set((list.json["data"] as ShownKey[]).map(({ tenant_id }) => tenant_id))).toEqual(new Set(["acme"]));
    expect((await remove(child.id, admin)).status).toBe(200);
  });

  it("that end make none that lives longer", async () => {
    const soon = new Date(gateway.now() + 3_600_000).toISOString();
    const later = new Date(gateway.now() + 7_200_000).toISOString();
    const admin = gateway.as((await make({ scopes: ["admin"], tenant_id: "acme", expires_at: soon })).key);
    for (const body of [{}, { expires_at: later }]) {
      const refused = await admin.post("/api/v1/keys", { name: "x", scopes: ["read"], ...body });
      expect([refused.status, refused.json["field"]]).toEqual([403, "expires_at"]);
    }
    await make({ expires_at: soon }, admin);
  });

  it("that end make none more powerful that lives longer", async () => {
    const soon = new Date(gateway.now() + 3_600_000).toISOString();
    const sooner = new Date(gateway.now() + 1_800_000).toISOString();
    for (const tenant_id of ["acme", null]) {
      const admin = gateway.as((await make({ scopes: ["admin"], tenant_id, expires_at: soon })).key);
      const reader = await make({ scopes: ["read"], tenant_id });
      const patch = (body: object, by: ApiClient = admin) =>
        by.request("PATCH", `/api/v1/keys/${reader.id}`, {
          body: JSON.stringify(body),
          headers: { "content-type": "application/json" },
        });
      for (const scopes of [["admin"], ["read", "publish"]]) {
        const refused = await patch({ scopes });
        expect([refused.status, refused.json["code"], refused.json["field"]]).toEqual([403, "forbidden", "scopes"]);
      }
      expect((await patch({ scopes: ["admin"], expires_at: null })).json["field"]).toBe("expires_at");
      expect((await gateway.as(reader.key).get("/api/v1/keys")).status).toBe(403);
      // What gives nobody more than they had is free; and so is what ends in time.
      expect((await patch({ name: "renamed", scopes: ["read"] })).status).toBe(200);
      expect((await patch({ scopes: ["admin"], expires_at: sooner })).json).toMatchObject({ scopes: ["admin"] });
      // One without an end may do it.
      const other = await make({ scopes: ["read"], tenant_id });
      const body = JSON.stringify({ scopes: ["admin"] });
      const raised = await gateway.request("PATCH", `/api/v1/keys/${other.id}`, {
        body,
        headers: { "content-type": "application/json" },
      });
      expect(raised.status).toBe(200);
    }
  });
});

describe("the keys of a tenant", () => {
  it("are so many and no more, made in either way", async () => {
    const gateway = await startTestGateway({ yaml: "limits: { max_keys_per_tenant: 3 }" });
    const body = { name: "k", scopes: ["read"], tenant_id: "acme" };
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push(String((await gateway.post("/api/v1/keys", body)).json["id"]));
    const put = () =>
      gateway.request("PUT", "/api/v1/keys/chosen", {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
    for (const refused of [await gateway.post("/api/v1/keys", body), await put()]) {
      expect([refused.status, refused.json["code"], refused.json["limit"]]).toEqual([409, "key_limit", 3]);
      expect(refused.json["detail"]).toMatch(/acme has 3 live keys.*Revoke one/);
    }
    expect((await gateway.post("/api/v1/keys", { ...body, tenant_id: "other" })).status).toBe(201);
    await gateway.request("DELETE", `/api/v1/keys/${ids[0]}`);
    expect((await put()).status).toBe(201);
    await gateway.close();
  });
});

describe("wrong keys", () => {
  const STRANGER = { "x-forwarded-for": "203.0.113.7" };
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  it("are slowed by the address they come from, and told in the log without the key", async () => {
    const gateway = await startTestGateway({ yaml: "trusted_proxies: [127.0.0.0/8]" });
    const nobody = gateway.as(undefined);
    const ask = (key: string, headers: object, path = "/api/v1/events") =>
      nobody.request("GET", path, { headers: { ...headers, ...bearer(key) } });
    const statuses: number[] = [];
    for (let n = 0; n < 25; n++) statuses.push((await ask(`guessed-key-${n}`, STRANGER)).status);
    expect(statuses).toEqual(Array.from({ length: 25 }, (_, n) => (n < 20 ? 401 : 429)));
    const body = '{"event_type":"a.b","payload":{}}';
    const publish = (key: string) =>
      nobody.request("POST", "/api/v1/events", { body, headers: { ...STRANGER, ...bearer(key) } });
    const refused = await publish("guessed-key");
    expect([refused.status, refused.json["code"]]).toEqual([429, "too_many_requests"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await publish(ADMIN_KEY)).status).toBe(202);
    expect((await ask(ADMIN_KEY, STRANGER)).status).toBe(200);
    // Others, and the machine itself, are not concerned.
    expect((await ask("guessed-key", { "x-forwarded-for": "203.0.113.8" })).status).toBe(401);
    for (let n = 0; n < 25; n++) expect((await ask("guessed-key", {})).status).toBe(401);
    const told = gateway.log.filter(({ msg }) => msg === "a request had an invalid key");
    expect(told.map((line) => [line["remote_address"], line["wrong_keys"]])).toEqual([
      ["203.0.113.7", 1],
      ["203.0.113.7", 21],
      ["203.0.113.8", 1],
      ["127.0.0.1", 1],
      ["127.0.0.1", 21],
    ]);
    expect(gateway.logText()).not.toContain("guessed");
    await gateway.close();
  });
});

describe("the last admin key that is not bound to a tenant", () => {
  it("stays, unless the configuration has one", async () => {
    const gateway = await startTestGateway();
    const made = await gateway.post("/api/v1/keys", { name: "only", scopes: ["admin"] });
    const { id, key } = made.json as ShownKey;
    await gateway.restart({ env: { ADMIN_KEY: "" } });
    const admin = gateway.as(key);
    const refused = await admin.request("DELETE", `/api/v1/keys/${id}`);
    expect([refused.status, refused.json["code"]]).toEqual([409, "conflict"]);
    expect((await admin.get("/api/v1/keys")).status).toBe(200);
    await gateway.restart({ env: {} });
    expect((await gateway.request("DELETE", `/api/v1/keys/${id}`)).status).toBe(200);
    await gateway.close();
  });
});
