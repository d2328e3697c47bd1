import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type Answer } from "../support/api-client.ts";
import { SAMPLE_KIND, signSample } from "../support/sample-kind.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const YAML = `
trusted_proxies: [127.0.0.1/32]
sources:
  - { name: filed, kind: sample, secrets: [secret-of-the-file-0123] }
`;
const PATH = "/api/v1/sources";
const SECRET = "canary-first-secret-wxyz";
const NEXT = "canary-second-secret-wxyz";
const JSON_TYPE = { "content-type": "application/json" };

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ yaml: YAML, sourceKinds: [SAMPLE_KIND] });
});
afterAll(() => gateway.close());

const send = (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
  gateway.request(method, `${PATH}${path}`, {
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: body === undefined ? headers : { ...JSON_TYPE, ...headers },
  });

async function make(input: { name: string } & Record<string, unknown>): Promise<Answer> {
  const answer = await send("POST", "", input);
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer;
}

function signed(source: string, secret: string, body = "{}"): Promise<Answer> {
  return gateway.webhook(source, body, signSample(secret, Date.now(), body));
}

const loggedOnce = async (source: string) => {
  await until(async () => (await gateway.rejected(source)).length === 1);
  return (await gateway.rejected(source))[0] as { id: string } & Record<string, unknown>;
};

describe("kinds of sources", () => {
  it("are listed with what a source of them needs, those of plugins too", async () => {
    const { json } = await gateway.get("/api/v1/source-kinds");
    const kinds = json["data"] as Record<string, unknown>[];
    const find = (name: string) => kinds.find((kind) => kind["name"] === name);
    expect(find("generic")).toMatchObject({ needs_secret: false, pulled: false, options: null });
    expect(find("github")).toMatchObject({ needs_secret: true, pulled: false });
    expect(find("amqp")).toMatchObject({ pulled: true, options: { properties: { queue: {} } } });
    expect(find("smartsheet")).toMatchObject({ has_manifest: true });
    expect(find("sample")).toBeDefined();
  });
});

describe("sources by API", () => {
  it("that are deleted stay closed until they are made again: the * source does not open their names", async () => {
    const input = { name: "guarded", auth: { header: "X-Token", token: "a-token-of-the-shop-0123456789" } };
    await make(input);
    const status = async () => (await gateway.webhook("guarded", "{}")).status;
    expect([await status(), (await send("DELETE", "/guarded")).status, await status()]).toEqual([401, 200, 410]);
    await gateway.restart();
    expect(await status()).toBe(410);
    // The control: a name that was never declared.
    expect((await gateway.webhook("never-declared", "{}")).status).toBe(202);
    await make(input);
    expect(await status()).toBe(401);
  });

  it("are made, read, listed, replaced, changed and deleted; what they are takes effect at once", async () => {
    const made = await make({ name: "crm", event_type: "crm.{source}", max_bytes: 10, methods: ["PUT"] });
    expect(made.json).toMatchObject({
      name: "crm",
      kind: "generic",
      tenant_id: "default",
      status: "active",
      secrets: [],
      auth: null,
      managed_by: "api",
      last_request_at: null,
    });
    expect((await gateway.webhook("crm", "{}")).status).toBe(405);
    const taken = await gateway.request("PUT", "/webhook/crm", { body: "{}", headers: JSON_TYPE });
    expect(taken.status).toBe(202);
    expect(await gateway.event(String(taken.json["event_id"]))).toMatchObject({ event_type: "crm.crm" });
    expect((await send("GET", "/crm")).json["last_request_at"]).toMatch(/^\d{4}-/);

    const changed = await send("PATCH", "/crm", { methods: ["POST"], only: ["crm.*"] });
    expect(changed.json).toMatchObject({ methods: ["POST"], only: ["crm.*"], max_bytes: 10 });
    expect((await gateway.webhook("crm", '{"long":"body"}')).status).toBe(413);
    const emptied = await send("PATCH", "/crm", { event_type: null, id_from: null, only: null });
    expect(emptied.json).toMatchObject({ event_type: null, id_from: null, only: null, max_bytes: 10 });
    const replaced = await send("PUT", "/crm", { only: ["nothing"] });
    expect(replaced.json).toMatchObject({ max_bytes: 2_097_152, event_type: null, only: ["nothing"] });
    expect((await gateway.webhook("crm", "{}")).json["status"]).toBe("ignored");

    const listed = (await gateway.get(`${PATH}?limit=1`)).json;
    expect(listed).toMatchObject({ data: [{ name: "crm" }], next_cursor: "crm" });
    expect((await gateway.get(`${PATH}?cursor=crm&kind=sample`)).json["data"]).toMatchObject([{ name: "filed" }]);
    expect((await send("DELETE", "/crm")).json).toEqual({ name: "crm" });
    expect((await send("GET", "/crm")).status).toBe(404);
    expect((await send("DELETE", "/crm")).status).toBe(404);
  });

  it("outlast a restart with their secrets, and no secret is ever shown, logged or stored in clear", async () => {
    const auth = { header: "X-Odd-Name", token: "canary-token-of-the-header" };
    const options = { strict: true, verify_token: "canary-verify-token" };
    const input = { name: "kept", kind: "sample", secrets: [SECRET, NEXT], auth, options, path_token: true };
    const made = await make(input);
    const token = String(made.json["path_token"]);
    expect(token).toMatch(/^[\w-]{32}$/);
    expect(made.json).toMatchObject({
      secrets: [
        { current: true, hint: "…wxyz", ends_at: null },
        { current: false, hint: "…wxyz" },
      ],
      auth: { header: "X-Odd-Name", token: "***" },
      options: { strict: true, verify_token: "***" },
    });
    await gateway.restart();
    const headers = { ...signSample(SECRET, Date.now(), '{"id":"k"}'), "x-odd-name": auth.token };
    const other = { "x-copy": `is ${SECRET}` };
    const answer = await gateway.webhook(`kept/${token}/sub?t=${NEXT}&n=1`, '{"id":"k"}', { ...headers, ...other });
    expect(answer.status).toBe(200);
    const id = String(answer.json["event_id"]).replace("evt_", "req_");
    expect((await gateway.get(`/api/v1/requests/${id}`)).json).toMatchObject({
      path: "/webhook/kept/sub",
      query: "t=***&n=1",
      headers: { "x-odd-name": "***", "x-copy": "***", "x-sample-time": expect.any(String) },
    });
    await gateway.webhook(`kept/${token}`, "{broken", { ...headers, "x-odd-name": "canary-wrong-token" });
    await loggedOnce("kept");
    const back = { ...(await send("GET", "/kept")).json };
    const shownAgain = { auth: back["auth"], options: back["options"], path_token: back["path_token"], kind: "sample" };
    expect((await send("PUT", "/kept", shownAgain)).status).toBe(200);
    const again = { ...signSample(NEXT, Date.now(), "{}"), "x-odd-name": auth.token };
    expect((await gateway.webhook(`kept/${token}`, "{}", again)).status).toBe(200);

    const texts = await Promise.all(
      ["", "/kept", "/kept/requests"].map(async (path) => (await send("GET", path)).text),
    );
    expect(texts.join() + gateway.logText()).not.toContain("canary");
    expect(texts.join() + gateway.logText()).not.toContain(token);
    await send("DELETE", "/kept");
  });

  it("find nobody who does not know the path token", async () => {
    const made = await make({ name: "hidden", path_token: true });
    const token = String(made.json["path_token"]);
    for (const path of [
      "hidden",
      "hidden/",
      `hidden/${token}x`,
      `hidden/x${token}`,
      "hidden/***",
      `hidden//${token}`,
    ]) {
      const answer = await gateway.webhook(path, "{}");
      expect([path, answer.status, answer.json["code"]]).toEqual([path, 404, "unknown_source"]);
    }
    expect((await gateway.webhook(`hidden/${token}`, "{}")).status).toBe(202);
    const shown = await send("GET", "/hidden/path-token");
    expect(shown.json).toEqual({ name: "hidden", path_token: token, path: `/webhook/hidden/${token}` });
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ msg: "the path token of a source was read", source: "hidden" }),
    );
    await send("PATCH", "/hidden", { path_token: null });
    expect((await gateway.webhook("hidden", "{}")).status).toBe(202);
    expect((await send("GET", "/hidden/path-token")).status).toBe(404);
  });

  // shows: B38
  it("demand a token, from allowed addresses, in known types, and log who comes without", async () => {
    const auth = { header: "Authorization", token: "s3cret-token-of-the-gate" };
    await make({ name: "gated", auth, allowed_ips: ["203.0.113.0/24"], content_types: ["application/json", "text/*"] });
    const good = { "x-forwarded-for": "203.0.113.7", authorization: "Bearer s3cret-token-of-the-gate" };
    const cases: [Record<string, string>, number, string | undefined][] = [
      [good, 202, undefined],
      [{ ...good, authorization: "s3cret-token-of-the-gate" }, 202, undefined],
      [{ ...good, "content-type": "text/csv; charset=utf-8" }, 202, undefined],
      [{ ...good, "content-type": "image/png" }, 415, "unsupported_content_type"],
      [{ ...good, authorization: "Bearer s3cret-token-of-the-gate2" }, 401, "bad_signature"],
      [{ ...good, authorization: "" }, 401, "bad_signature"],
      [{ "x-forwarded-for": "203.0.113.7" }, 401, "bad_signature"],
      [{ ...good, "x-forwarded-for": "203.0.114.7" }, 403, "address_not_allowed"],
      [{ ...good, "x-forwarded-for": "203.0.113.7, 198.51.100.1" }, 403, "address_not_allowed"],
      [{ authorization: "Bearer s3cret-token-of-the-gate" }, 403, "address_not_allowed"],
    ];
    for (const [headers, status, code] of cases) {
      const answer = await gateway.webhook("gated", "{}", headers);
      expect([headers, answer.status, answer.json["code"]]).toEqual([headers, status, code]);
    }
    await until(async () => (await gateway.rejected("gated")).length === 7);
    const causes = async (query: string) =>
      ((await send("GET", `/gated/requests?${query}`)).json["data"] as { cause: string }[]).map(({ cause }) => cause);
    expect(await causes("cause=address_not_allowed")).toHaveLength(3);
    expect(await causes("outcome=ignored")).toEqual([]);
    expect(await causes("outcome=rejected&cause=bad_signature")).toHaveLength(3);
    expect((await send("GET", "/gated/requests?outcome=lost")).status).toBe(422);
  });

  it("pause with 503, close with 410 and resume, and tell so by an event", async () => {
    await make({ name: "onoff" });
    expect((await send("POST", "/onoff/pause")).json["status"]).toBe("paused");
    expect((await gateway.webhook("onoff", "{}")).status).toBe(503);
    expect((await send("POST", "/onoff/resume")).json["status"]).toBe("active");
    expect((await gateway.webhook("onoff", "{}")).status).toBe(202);
    expect((await send("POST", "/onoff/close")).json["status"]).toBe("closed");
    expect((await gateway.webhook("onoff", "{}")).status).toBe(410);
    const told = async () => (await gateway.get("/api/v1/events?event_type=source.disabled")).json["data"] as unknown[];
    await until(async () => (await told()).length === 2);
  });

  it("of the file are the file's, but may be paused and have their secret rotated; that outlasts a restart", async () => {
    for (const [method, path, body] of [
      ["PUT", "/filed", { kind: "sample" }],
      ["PATCH", "/filed", { max_bytes: 5 }],
      ["DELETE", "/filed", undefined],
    ] as const) {
      const answer = await send(method, path, body);
      expect([method, answer.status, answer.json["code"]]).toEqual([method, 409, "managed_by_config"]);
    }
    expect((await send("POST", "/filed/rotate-secret", { secret: NEXT })).json["secret"]).toBe(NEXT);
    expect((await send("POST", "/filed/pause")).status).toBe(200);
    await gateway.restart();
    expect((await send("GET", "/filed")).json).toMatchObject({ status: "paused", managed_by: "config" });
    await send("POST", "/filed/resume");
    expect((await signed("filed", NEXT)).status).toBe(200);
    expect((await signed("filed", "secret-of-the-file-0123")).status).toBe(200);
    await gateway.reload(YAML.replace("secret-of-the-file-0123", "another-of-the-file-4567"));
    expect((await signed("filed", NEXT)).status).toBe(401);
    expect((await signed("filed", "another-of-the-file-4567")).status).toBe(200);
    await expect(gateway.reload("sources: [{ name: gated }]")).rejects.toMatchObject({ code: "config_invalid" });
    await gateway.reload(YAML);
  });

  it("rotate secrets with an overlap, and retire one at once, but never the last that a kind needs", async () => {
    await make({ name: "turning", kind: "sample", secrets: [SECRET] });
    const rotated = await send("POST", "/turning/rotate-secret", { overlap_s: 3600 });
    const made = String(rotated.json["secret"]);
    expect(rotated.headers.get("cache-control")).toBe("no-store");
    const secrets = rotated.json["secrets"] as { id: string; current: boolean; ends_at: string | null }[];
    expect(secrets.map(({ current, ends_at }) => [current, ends_at === null])).toEqual([
      [true, true],
      [false, false],
    ]);
    for (const secret of [made, SECRET]) expect((await signed("turning", secret)).status).toBe(200);
    expect((await send("POST", "/turning/rotate-secret", { secret: made })).status).toBe(422);
    expect((await send("DELETE", `/turning/secrets/${secrets[1]?.id}`)).status).toBe(200);
    expect([(await signed("turning", made)).status, (await signed("turning", SECRET)).status]).toEqual([200, 401]);
    expect((await send("DELETE", `/turning/secrets/${secrets[0]?.id}`)).status).toBe(409);
    expect((await send("DELETE", "/turning/secrets/sec_none")).status).toBe(404);
    expect((await send("POST", "/turning/rotate-secret", { secret: NEXT, overlap_s: 0 })).status).toBe(200);
    expect((await signed("turning", made)).status).toBe(401);
    const short = await send("POST", "/turning/rotate-secret", { secret: SECRET, overlap_s: 200 });
    expect(short.status).toBe(200);
    // Signatures that are made now stay fresh enough.
    gateway.moveClock(201_000);
    await until(async () => (await signed("turning", NEXT)).status === 401);
    expect((await send("GET", "/turning")).json["secrets"]).toHaveLength(1);
  });

  it("are changed by who has read them last, and made once for one Idempotency-Key", async () => {
    const first = await send("POST", "", { name: "careful" }, { "idempotency-key": "one" });
    const again = await send("POST", "", { name: "careful" }, { "idempotency-key": "one" });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect((await send("POST", "", { name: "other" }, { "idempotency-key": "one" })).status).toBe(409);
    expect((await send("POST", "", { name: "careful" })).json["code"]).toBe("conflict");
    const etag = String(first.headers.get("etag"));
    await gateway.webhook("careful", "{}");
    expect((await send("PATCH", "/careful", { max_bytes: 9 }, { "if-match": etag })).status).toBe(200);
    for (const [method, path, body] of [
      ["PATCH", "/careful", { max_bytes: 8 }],
      ["PUT", "/careful", {}],
      ["DELETE", "/careful", undefined],
      ["POST", "/careful/pause", undefined],
    ] as const) {
      expect([method, (await send(method, path, body, { "if-match": etag })).status]).toEqual([method, 412]);
    }
  });

  it("belong to the tenant of the key that makes them, for good", async () => {
    const shared = await startTestGateway({ yaml: "any_source: false\nsources: [{ name: gated }]" });
    try {
      const mine = shared.as(await shared.createKey(["admin"], "mine"));
      const put = (body: unknown) =>
        shared.request("PUT", `${PATH}/owned`, { body: JSON.stringify(body), headers: JSON_TYPE });
      expect((await mine.post(PATH, { name: "owned", tenant_id: "yours" })).status).toBe(403);
      expect((await mine.post(PATH, { name: "owned" })).json).toMatchObject({ tenant_id: "mine" });
      expect((await mine.post(PATH, { name: "gated" })).status).toBe(409);
      expect((await put({ tenant_id: "yours" })).json["field"]).toBe("tenant_id");
      expect((await put({ max_bytes: 7 })).json).toMatchObject({ tenant_id: "mine", max_bytes: 7 });
      expect((await mine.get(PATH)).json["data"]).toMatchObject([{ name: "owned" }]);
      const event = await shared.webhook("owned", "{}");
      expect(await mine.event(String(event.json["event_id"]))).toMatchObject({ tenant_id: "mine" });
    } finally {
      await shared.close();
    }
  });

  it("cannot be declared by a tenant's key where * takes any name: its webhooks are not that tenant's", async () => {
    const before = await gateway.webhook("watched", "{}");
    const thief = gateway.as(await gateway.createKey(["admin"], "thief"));
    const body = { name: "watched" };
    const put = () => thief.request("PUT", `${PATH}/watched`, { body: "{}", headers: JSON_TYPE });
    for (const taken of [await thief.post(PATH, body), await put(), await thief.post(PATH, { name: "never-used" })]) {
      expect([taken.status, taken.json["code"]]).toEqual([403, "forbidden"]);
      expect(taken.json["detail"]).toContain("* source");
    }
    const after = await gateway.webhook("watched", "{}");
    for (const { json } of [before, after]) {
      expect((await thief.get(`/api/v1/events/${String(json["event_id"])}`)).status).toBe(404);
      expect(await gateway.event(String(json["event_id"]))).toMatchObject({ tenant_id: "default" });
    }
    // Whoever may see them anyway may declare it, and who is bound to nothing for whom he likes.
    const owner = gateway.as(await gateway.createKey(["admin"], "default"));
    expect((await owner.post(PATH, body)).status).toBe(201);
    expect((await send("POST", "", { name: "given", tenant_id: "thief" })).status).toBe(201);
    expect((await thief.request("PUT", `${PATH}/given`, { body: "{}", headers: JSON_TYPE })).status).toBe(200);
  });

  it.each([
    [{ name: "Bad Name" }, "name"],
    [{ name: "x", kind: "unheard-of" }, "kind"],
    [{ name: "x", kind: "sample" }, "secrets"],
    [{ name: "x", kind: "sample", secrets: ["a\0b"] }, "secrets[0]"],
    [{ name: "x", secrets: ["same", "same"] }, "secrets"],
    [{ name: "x", kind: "sample", secrets: [SECRET], options: { strict: "yes" } }, "options.strict"],
    [{ name: "x", kind: "sample", secrets: [SECRET], options: { more: 1 } }, "options.more"],
    [{ name: "x", options: { any: 1 } }, "options.any"],
    [{ name: "x", allowed_ips: ["10.0.0.0/33"] }, "allowed_ips[0]"],
    [{ name: "x", only: ["a..b"] }, "only[0]"],
    [{ name: "x", content_types: ["json"] }, "content_types[0]"],
    [{ name: "x", event_type: "{type}" }, "event_type"],
    [{ name: "suspended" }, "event_type"],
    [{ name: "x", auth: { header: "X-A", token: "a\nb" } }, "auth.token"],
    [{ name: "x", auth: { header: "X-A", token: "***" } }, "auth.token"],
    [{ name: "x", path_token: "short" }, "path_token"],
    [{ name: "x", tenant_id: "a\0" }, "tenant_id"],
    [{ name: "x", id_from: "somewhere" }, "id_from"],
    [{ name: "x", unknown: 1 }, "unknown"],
  ])("reject %j and name the field", async (input, field) => {
    const answer = await send("POST", "", input);
    expect([answer.status, answer.json["code"], answer.json["field"]]).toEqual([422, "invalid_field", field]);
    expect((await send("GET", "/x")).status).toBe(404);
  });
});

describe("a request that was ignored or rejected", () => {
  it.each([
    ["before its body was read", "gone-wrong", { allowed_ips: ["192.0.2.1/32"] }, "address_not_allowed"],
    ["for what is in it", "went-wrong", { content_types: ["application/json"] }, "unreadable_body"],
  ])("is named in the answer, %s", async (_, name, settings, code) => {
    await make({ name, ...settings });
    const { json } = await gateway.webhook(name, "{broken", { "content-type": "application/json" });
    expect([json["code"], json["request_id"]]).toEqual([code, expect.stringMatching(/^req_/)]);
    expect((await loggedOnce(name)).id).toBe(json["request_id"]);
    // What is not stored has no name.
    const unknown = await gateway.webhook("no-such-source", "{}");
    expect(unknown.json).not.toHaveProperty("request_id");
  });

  it("is taken in again after a repair, once, with its bytes; who did it is on record", async () => {
    await make({ name: "repaired", only: ["nothing"], id_from: "body:/id" });
    await gateway.webhook("repaired?a=1", '{"id":  9007199254740993}', { authorization: "Bearer x" });
    const { id } = await loggedOnce("repaired");
    const still = await gateway.post(`/api/v1/requests/${id}/replay`);
    expect(still.json).toMatchObject({ replayed_at: null, result: { outcome: "ignored", cause: "filtered" } });
    await send("PATCH", "/repaired", { only: null });

    const { status, json } = await gateway.post(`/api/v1/requests/${id}/replay`);
    expect([status, json]).toMatchObject([
      200,
      { outcome: "ignored", cause: "filtered", replayed_at: expect.any(String), result: { outcome: "accepted" } },
    ]);
    const [eventId = ""] = json["replay_event_ids"] as string[];
    const event = await gateway.get(`/api/v1/events/${eventId}`);
    expect(event.text).toContain('"payload":{"id":  9007199254740993}');
    expect(event.json["timestamp"]).toBe(json["received_at"]);
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ msg: "a request was replayed", request_id: id, outcome: "accepted" }),
    );
    const twice = await gateway.post(`/api/v1/requests/${id}/replay`);
    expect([twice.status, twice.json["code"], twice.json["event_ids"]]).toEqual([409, "conflict", [eventId]]);
    expect((await gateway.get(`/api/v1/requests/${id}`)).json).toMatchObject({ replay_event_ids: [eventId] });
    // What the sender repeats by itself is known.
    expect((await gateway.webhook("repaired", '{"id":9007199254740993}')).json["status"]).toBe("duplicate");
    await until(async () => (await gateway.rejected("repaired")).length === 2);
  });

  it("is shown with the body that was kept of it, as text or in base64", async () => {
    await make({ name: "kept", only: ["other.*"] });
    for (const [body, shown] of [
      ['{"id":9007199254740993}', { body: '{"id":9007199254740993}' }],
      [Buffer.from([0xff, 0x00]), { body_base64: "/wA=" }],
    ] as const) {
      const before = (await gateway.rejected("kept")).length;
      await gateway.webhook("kept", body, { "content-type": "application/octet-stream" });
      await until(async () => (await gateway.rejected("kept")).length > before);
      const [latest] = await gateway.rejected("kept");
      expect((await gateway.get(`/api/v1/requests/${latest?.id}`)).json).toMatchObject(shown);
      expect(latest).not.toHaveProperty(Object.keys(shown)[0] as string);
    }
  });

  it("needs no signature any more, and is read by its kind", async () => {
    await make({ name: "mistaken", kind: "sample", secrets: [SECRET] });
    const body = '{"list":[{"id":1,"event":"made"},{"id":2,"event":"sold"}]}';
    expect((await signed("mistaken", NEXT, body)).status).toBe(401);
    const { id } = await loggedOnce("mistaken");
    const { json } = await gateway.post(`/api/v1/requests/${id}/replay`);
    expect(json).toMatchObject({ cause: "bad_signature", result: { outcome: "accepted", cause: null } });
    const [, second = ""] = json["replay_event_ids"] as string[];
    expect(await gateway.event(second)).toMatchObject({ event_type: "sample.sold", payload: { id: 2 } });
  });

  it("is rejected again while it is still wrong, and 409 where its body was not kept or it was accepted", async () => {
    await gateway.webhook("wronged", "{broken");
    const { id } = await loggedOnce("wronged");
    expect((await gateway.post(`/api/v1/requests/${id}/replay`)).json["code"]).toBe("unreadable_body");
    await make({ name: "tight", max_bytes: 2 });
    expect((await gateway.webhook("tight", "{...}")).status).toBe(413);
    const bodiless = await gateway.post(`/api/v1/requests/${(await loggedOnce("tight")).id}/replay`);
    expect([bodiless.status, bodiless.json["detail"]]).toEqual([409, expect.stringContaining("was not kept")]);
    const accepted = await gateway.webhook("wronged", "{}");
    const ofEvent = String(accepted.json["event_id"]).replace("evt_", "req_");
    expect((await gateway.post(`/api/v1/requests/${ofEvent}/replay`)).status).toBe(409);
    expect((await gateway.post("/api/v1/requests/req_none/replay")).status).toBe(404);
  });
});
