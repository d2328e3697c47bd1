import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer, ApiClient } from "../support/api-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

function send(method: string, path: string, body?: unknown, headers = {}, by: ApiClient = gateway): Promise<Answer> {
  return by.request(method, `/api/v1/${path}`, {
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
  });
}
const codeOf = ({ status, json }: Answer) => [status, json["code"]];
const tagOf = ({ headers }: Answer) => ({ "if-match": headers.get("etag") ?? "" });

const RESOURCES = [
  { name: "tenants", path: "tenants/cond", make: { name: "Cond" }, change: { name: "Changed" } },
  {
    name: "event types",
    path: "event-types/cond.type",
    make: { description: "d" },
    change: { description: "changed" },
  },
  { name: "sources", path: "sources/cond", make: { max_bytes: 5 }, change: { max_bytes: 6 } },
  {
    name: "subscriptions",
    path: "subscriptions/cond-sub",
    make: { name: "cond", url: "https://example.com/hook", events: ["never.cond"] },
    change: { timeout: 7 },
  },
  { name: "keys", path: "keys/cond-key", make: { name: "Cond", scopes: ["read"] }, change: { name: "changed" } },
];

describe.each(RESOURCES)("$name", ({ path, make, change }) => {
  it("are made and replaced by PUT, and changed only in the version that was meant", async () => {
    const nothing = await send("PUT", path, make, { "if-match": "*" });
    expect(codeOf(nothing)).toEqual([412, "precondition_failed"]);
    const made = await send("PUT", path, make);
    expect(made.status).toBe(201);
    const seen = tagOf(await gateway.get(`/api/v1/${path}`));
    expect(seen).toEqual(tagOf(made));
    const changed = await send("PATCH", path, change, seen);
    expect(changed.status).toBe(200);
    expect(tagOf(changed)).not.toEqual(seen);
    // Whoever still has the old version in mind changes nothing.
    for (const [method, body] of [
      ["PATCH", change],
      ["PUT", make],
      ["DELETE", undefined],
    ] as const) {
      expect(codeOf(await send(method, path, body, seen))).toEqual([412, "precondition_failed"]);
    }
    expect((await gateway.get(`/api/v1/${path}`)).json).toMatchObject(change);
    const replaced = await send("PUT", path, make, tagOf(changed));
    expect(replaced.status).toBe(200);
    expect((await send("DELETE", path, undefined, tagOf(replaced))).status).toBeLessThan(300);
  });
});

it("a source's acts and its secrets are changed only in the version that was meant", async () => {
  const secrets = ["a-good-secret-0123456789"];
  const seen = tagOf(await send("PUT", "sources/acted", { secrets }));
  const rotated = await send("POST", "sources/acted/rotate-secret", {}, seen);
  expect([rotated.status, tagOf(rotated)]).toEqual([200, tagOf(await gateway.get("/api/v1/sources/acted"))]);
  const [current, old] = rotated.json["secrets"] as { id: string }[];
  const acts = [
    ["POST", "sources/acted/rotate-secret", {}],
    ["POST", "sources/acted/pause", undefined],
    ["POST", "sources/acted/close", undefined],
    ["DELETE", `sources/acted/secrets/${old?.id}`, undefined],
  ] as const;
  for (const [method, path, body] of acts) {
    const refused = await send(method, path, body, seen);
    expect([path, ...codeOf(refused), refused.json["etag"]]).toEqual([
      path,
      412,
      "precondition_failed",
      rotated.headers.get("etag"),
    ]);
  }
  expect((await gateway.get("/api/v1/sources/acted")).json).toMatchObject({
    status: "active",
    secrets: [{ id: current?.id }, { id: old?.id }],
  });
  const retired = await send("DELETE", `sources/acted/secrets/${old?.id}`, undefined, tagOf(rotated));
  expect((await send("POST", "sources/acted/pause", undefined, tagOf(retired))).json["status"]).toBe("paused");
});

it("of two changes of a subscription to one version one is made, and the other is told the version of now", async () => {
  const input = { name: "raced", url: "https://example.com/hook", events: ["never.raced"] };
  const seen = tagOf(await send("PUT", "subscriptions/raced", input));
  const answers = await Promise.all([10, 20].map((timeout) => send("PATCH", "subscriptions/raced", { timeout }, seen)));
  const [made, refused] = answers.toSorted((a, b) => a.status - b.status) as [Answer, Answer];
  expect([made.status, ...codeOf(refused)]).toEqual([200, 412, "precondition_failed"]);
  expect(refused.json["etag"]).toBe(tagOf(made)["if-match"]);
  const now = await gateway.get("/api/v1/subscriptions/raced");
  expect([now.json["timeout"], tagOf(now)]).toEqual([made.json["timeout"], tagOf(made)]);
  for (const act of ["pause", "resume"]) {
    expect(codeOf(await send("POST", `subscriptions/raced/${act}`, {}, seen))).toEqual([412, "precondition_failed"]);
  }
  expect(codeOf(await send("DELETE", "subscriptions/raced", undefined, seen))).toEqual([412, "precondition_failed"]);
});

it("of two changes to one version at the same time one is made", async () => {
  const seen = tagOf(await send("PUT", "tenants/raced", {}));
  const answers = await Promise.all([1, 2, 3].map((n) => send("PATCH", "tenants/raced", { name: `n${n}` }, seen)));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412, 412]);
});

describe("a POST with an Idempotency-Key", () => {
  const post = (path: string, body: unknown, key: string, by?: ApiClient) =>
    send("POST", path, body, { "idempotency-key": key }, by);
  const replayed = ({ headers }: Answer) => headers.get("idempotency-replayed");

  it.each([
    { path: "tenants", body: { id: "once", name: "Once" }, other: { id: "twice" }, id: "id" },
    { path: "event-types", body: { name: "once.type" }, other: { name: "twice.type" }, id: "name" },
    { path: "sources", body: { name: "once" }, other: { name: "twice" }, id: "name" },
  ])("makes one of $path, however often it comes", async ({ path, body, other, id }) => {
    const first = await post(path, body, "k1");
    const again = await post(path, body, "k1");
    expect([first.status, again.status, replayed(first), replayed(again)]).toEqual([201, 201, null, "true"]);
    expect(again.json[id]).toBe(first.json[id]);
    expect(codeOf(await post(path, other, "k1"))).toEqual([409, "idempotency_key_reused"]);
    // Another key is another request, which finds the name taken.
    expect(codeOf(await post(path, body, "k2"))).toEqual([409, "conflict"]);
    expect((await post(path, body, "no spaces")).json["field"]).toBe("Idempotency-Key");
    await gateway.restart();
    expect(replayed(await post(path, body, "k1"))).toBe("true");
    const name = String(first.json[id]);
    await send("DELETE", `${path}/${name}`);
    expect(codeOf(await post(path, body, "k1"))).toEqual([409, "conflict"]);
  });

  it("makes one key and shows it once: a repeated request gets everything but the key", async () => {
    const body = { name: "shown once", scopes: ["read"] };
    const answers = await Promise.all([1, 2, 3].map(() => post("keys", body, "race")));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 201]);
    expect(new Set(answers.map(({ json }) => json["id"])).size).toBe(1);
    const shown = answers.filter(({ text }) => text.includes('"key":"phk_'));
    expect(shown.map(({ status }) => status)).toEqual([201]);
    const later = await post("keys", body, "race");
    expect([later.status, replayed(later), "key" in later.json]).toEqual([200, "true", false]);
    expect(later.json).toMatchObject({ name: "shown once", status: "active", prefix: expect.any(String) as string });
    const [made] = shown;
    expect((await gateway.as(String(made?.json["key"])).get("/api/v1/events")).status).toBe(200);
  });

  it("has nothing to do with another tenant's of the same name", async () => {
    const body = { name: "same", scopes: ["read"] };
    const ids: unknown[] = [];
    for (const tenant of ["left", "right"]) {
      const admin = gateway.as(await gateway.createKey(["admin"], tenant));
      const answer = await post("keys", body, "shared", admin);
      expect(answer.status).toBe(201);
      ids.push(answer.json["id"]);
    }
    expect(ids[0]).not.toBe(ids[1]);
  });

  it("is rejected when its body cannot be told from another", async () => {
    const deep = `${'{"a":'.repeat(3000)}1${"}".repeat(3000)}`;
    const answer = await gateway.request("POST", "/api/v1/event-types", {
      body: `{"name":"deep.type","versions":[{"version":"1","schema":${deep}}]}`,
      headers: { "content-type": "application/json", "idempotency-key": "deep" },
    });
    expect(codeOf(answer)).toEqual([422, "invalid_field"]);
  });
});

describe("keys", () => {
  it("change what they may do at once, and their tenant never", async () => {
    const made = await send("PUT", "keys/scoped", { name: "s", scopes: ["read"], tenant_id: "acme" });
    const own = gateway.as(String(made.json["key"]));
    expect((await own.publish({ event_type: "a.b", payload: {} })).status).toBe(403);
    const changed = await send("PATCH", "keys/scoped", { scopes: ["publish"] });
    expect(changed.json).toMatchObject({ id: "scoped", scopes: ["publish"], tenant_id: "acme", name: "s" });
    expect("key" in changed.json).toBe(false);
    expect((await own.publish({ event_type: "a.b", payload: {} })).status).toBe(202);
    expect((await own.get("/api/v1/events")).status).toBe(403);
    const moved = await send("PUT", "keys/scoped", { name: "s", scopes: ["read"], tenant_id: "other" });
    expect([moved.status, moved.json["field"]]).toEqual([422, "tenant_id"]);
    expect((await send("PATCH", "keys/scoped", { tenant_id: "other" })).json["field"]).toBe("tenant_id");
  });

  it("end when they are told to, and cannot be brought back", async () => {
    const past = new Date(Date.now() - 1000).toISOString();
    await send("PUT", "keys/ending", { name: "e", scopes: ["read"] });
    expect((await send("PATCH", "keys/ending", { expires_at: past })).json["field"]).toBe("expires_at");
    const end = new Date(Date.now() + 3_600_000).toISOString();
    expect((await send("PATCH", "keys/ending", { expires_at: end })).json["expires_at"]).toBe(end);
    expect((await send("PATCH", "keys/ending", { name: "still" })).json["expires_at"]).toBe(end);
    expect((await send("PATCH", "keys/ending", { expires_at: null })).json["expires_at"]).toBeNull();
    await send("DELETE", "keys/ending");
    expect(codeOf(await send("PATCH", "keys/ending", { name: "back" }))).toEqual([409, "conflict"]);
    expect(codeOf(await send("PUT", "keys/ending", { name: "back", scopes: ["read"] }))).toEqual([409, "conflict"]);
  });

  it("cannot outlive by a change the key that changes them", async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { name: "short", scopes: ["admin"], tenant_id: "brief", expires_at };
    const short = gateway.as(String((await send("PUT", "keys/short", body)).json["key"]));
    expect((await send("PATCH", "keys/short", { expires_at: null }, {}, short)).status).toBe(403);
    expect((await send("PUT", "keys/short", { name: "s", scopes: ["admin"] }, {}, short)).status).toBe(403);
    expect((await send("PATCH", "keys/short", { name: "renamed" }, {}, short)).json["name"]).toBe("renamed");
    expect((await send("PATCH", "keys/scoped", { name: "x" }, {}, short)).status).toBe(404);
    expect((await send("PUT", "keys/scoped", { name: "x", scopes: ["read"], expires_at }, {}, short)).status).toBe(404);
  });

  it("have ids that are well-formed and no one else's", async () => {
    for (const id of ["config", "a%20b", "x".repeat(65)]) {
      const answer = await send("PUT", `keys/${id}`, { name: "n", scopes: ["read"] });
      expect([id, answer.status, answer.json["field"]]).toEqual([id, 422, "id"]);
    }
  });

  it("that are the last to do everything stay so", async () => {
    const alone = await startTestGateway();
    const make = (name: string) => alone.post("/api/v1/keys", { name, scopes: ["admin"] });
    const [{ id: other }, { id: own, key }] = [(await make("other")).json, (await make("own")).json];
    await alone.restart({ env: { ADMIN_KEY: "" } });
    const admin = alone.as(String(key));
    const patch = (id: unknown, body: object) => send("PATCH", `keys/${String(id)}`, body, {}, admin);
    expect((await patch(other, { scopes: ["read"] })).status).toBe(200);
    expect(codeOf(await patch(own, { scopes: ["read"] }))).toEqual([409, "conflict"]);
    expect(codeOf(await patch(own, { expires_at: new Date(Date.now() + 60_000).toISOString() }))).toEqual([
      409,
      "conflict",
    ]);
    expect((await patch(own, { name: "mine", scopes: ["admin", "read"] })).status).toBe(200);
    await alone.close();
  });
});
