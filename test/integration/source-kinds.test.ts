import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SourceKind } from "../../src/sources/source-kind.ts";
import { until, type Answer } from "../support/api-client.ts";
import { SAMPLE_KIND, SAMPLE_TIME, signSample } from "../support/sample-kind.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SECRET = "canary-of-the-sample-source";
const STRICT_ANSWER: SourceKind = {
  name: "particular",
  needsSecret: false,
  async verify(request) {
    await Promise.resolve();
    // What is signed here is the address.
    if (request.headers["x-address"] === undefined) return;
    if (request.headers["x-address"] !== request.url) throw new Error(`it is ${request.url}`);
  },
  answer: (result) => ({ status: 200, headers: { "x-outcome": result.kind }, body: "" }),
};
const YAML = `
trusted_proxies: [127.0.0.1/32]
event_types:
  - name: sample.checked
    versions: [{ version: "1.0", schema: { type: object, required: [total] } }]
sources:
  - { name: signed, kind: sample, secrets: [${SECRET}, older-secret-of-the-source] }
  - { name: renamed, kind: sample, secrets: [${SECRET}], event_type: "shop.{source}.{type}", id_from: "body:/other" }
  - { name: picky, kind: sample, secrets: [${SECRET}], only: [made, sample.list.*] }
  - { name: odd, kind: particular }
  - { name: quiet, only: [nothing.else] }
`;

describe("a source of a kind", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    const sourceKinds = [SAMPLE_KIND, STRICT_ANSWER];
    [gateway, sink] = await Promise.all([startTestGateway({ yaml: YAML, sourceKinds }), openSinkServer()]);
    await gateway.subscribe({ name: "all", url: sink.url });
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  function send(source: string, body: unknown, { secret = SECRET, at = Date.now() } = {}): Promise<Answer> {
    const text = JSON.stringify(body);
    return gateway.webhook(source, text, signSample(secret, at, text));
  }

  const eventOf = (answer: Answer) => gateway.event(String(answer.json["event_id"]));
  const logged = async (source: string, cause: string) => {
    await until(async () => (await gateway.rejected(source)).some((one) => one.cause === cause));
    return (await gateway.rejected(source)).filter((one) => one.cause === cause);
  };

  it("takes what is signed with any live secret and answers 200, with type, key and time as its kind says", async () => {
    const answer = await send("signed", { id: "a-1", event: "made", about: "thing-7" });
    expect([answer.status, answer.json]).toEqual([
      200,
      { status: "queued", event_id: expect.stringMatching(/^evt_/), deliveries: 1 },
    ]);
    expect(await eventOf(answer)).toMatchObject({
      event_type: "sample.made",
      ordering_key: "thing-7",
      timestamp: new Date(SAMPLE_TIME).toISOString(),
    });
    const again = await send("signed", { id: "a-1" }, { secret: "older-secret-of-the-source" });
    expect([again.status, again.json]).toEqual([200, { status: "duplicate", event_id: answer.json["event_id"] }]);
  });

  it("rejects a wrong signature with 401 before it looks at the body, and logs it without the secret", async () => {
    const refused = await gateway.webhook("signed", "{broken", signSample("wrong", Date.now(), "{broken"));
    expect([refused.status, refused.json["code"]]).toEqual([401, "bad_signature"]);
    const stale = await send("signed", {}, { at: Date.now() - 3_600_000 });
    expect(stale.status).toBe(401);
    expect((await logged("signed", "bad_signature"))[0]).toMatchObject({ outcome: "rejected", events: [] });
    const unreadable = await gateway.webhook("signed", "{broken", signSample(SECRET, Date.now(), "{broken"));
    expect([unreadable.status, unreadable.json["code"]]).toEqual([400, "unreadable_body"]);
  });

  it("answers a handshake and records nothing", async () => {
    const before = (await gateway.get("/api/v1/events?source=signed")).text;
    const asked = await gateway.request("GET", "/webhook/signed?challenge=hello%20there");
    expect([asked.status, asked.text, asked.headers.get("content-type")]).toEqual([200, "hello there", "text/plain"]);
    expect(asked.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await gateway.get("/api/v1/events?source=signed")).text).toBe(before);
    expect((await gateway.get("/metrics")).text).toMatch(/outcome="handshake"\} 1/);
    const other = await gateway.request("GET", "/webhook/signed");
    expect([other.status, other.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await gateway.request("DELETE", "/webhook/signed")).status).toBe(405);
  });

  it("makes an event of each part, with bytes of its own, and knows each again", async () => {
    const list = [{ id: 1, event: "list.first", n: 1 }, { id: 2, event: "list.second" }, { event: "noise" }];
    const answer = await send("signed", { list });
    expect([answer.status, answer.json]).toEqual([
      200,
      { status: "queued", event_ids: [expect.any(String), expect.any(String)], deliveries: 2 },
    ]);
    const [first = ""] = answer.json["event_ids"] as string[];
    expect(await gateway.event(first)).toMatchObject({ event_type: "sample.list.first", payload: list[0] });

    const more = await send("signed", { list: [...list, { id: 3, event: "list.third" }] });
    expect(more.json["event_ids"]).toHaveLength(1);
    const latest = async () => (await logged("signed", "duplicate"))[0]?.["events"];
    await expect.poll(latest).toMatchObject([
      { event_id: first, outcome: "ignored", cause: "duplicate" },
      { outcome: "ignored", cause: "duplicate" },
      { outcome: "accepted", cause: null },
      { event_id: null, outcome: "ignored", cause: "noise" },
    ]);
    const all = await send("signed", { list: list.slice(0, 2) });
    expect([all.status, all.json]).toEqual([200, { status: "duplicate", event_id: first }]);
  });

  it("ignores a request whose parts are all ignored, and says why", async () => {
    const answer = await send("signed", { list: [{ event: "noise" }] });
    expect([answer.status, answer.json]).toEqual([200, { status: "ignored", cause: "noise" }]);
    expect((await logged("signed", "noise"))[0]).toMatchObject({ outcome: "ignored" });
    const empty = await send("signed", { list: [] });
    expect([empty.status, empty.json]).toEqual([200, { status: "ignored", cause: "empty" }]);
  });

  // shows: A13
  it("lets through only what fits its patterns, with the kind's name in front or without", async () => {
    expect((await send("picky", { id: 1, event: "made" })).json["status"]).toBe("queued");
    const filtered = await send("picky", { id: 2, event: "changed" });
    expect([filtered.status, filtered.json]).toEqual([200, { status: "ignored", cause: "filtered" }]);
    const list = [
      { id: 3, event: "list.one" },
      { id: 4, event: "changed" },
    ];
    expect((await send("picky", { list })).json["event_ids"]).toHaveLength(1);
    expect((await gateway.webhook("quiet", "{}")).json).toEqual({ status: "ignored", cause: "filtered" });
  });

  it("keeps what fits no schema, delivers it to nobody, and tells its sender that all is well", async () => {
    const answer = await send("signed", { id: "bad-1", event: "checked" });
    expect([answer.status, answer.json]).toEqual([200, { status: "ignored", cause: "invalid" }]);
    const [entry] = (await logged("signed", "invalid")) as unknown as { events: { event_id: string }[] }[];
    const id = entry?.events[0]?.event_id ?? "";
    expect(await gateway.event(id)).toMatchObject({
      event_type: "sample.checked",
      deliveries: [],
      schema_result: { valid: false, errors: [{ path: "/total", message: "is missing" }] },
      payload: { id: "bad-1" },
    });
    const replay = await gateway.post(`/api/v1/events/${id}/replay`, {
      subscription_id: ((await gateway.get("/api/v1/subscriptions")).json["data"] as { id: string }[])[0]?.id,
    });
    expect(replay.status).toBe(202);
    // The same one, once it fits, is no duplicate of what was kept.
    expect((await send("signed", { id: "bad-1", event: "checked", total: 1 })).json["status"]).toBe("queued");
  });

  it("names types by its template, and goes by the configured id before that of the kind", async () => {
    const answer = await send("renamed", { id: 1, event: "made", other: "x" });
    expect(await eventOf(answer)).toMatchObject({ event_type: "shop.renamed.sample.made" });
    expect((await send("renamed", { id: 2, event: "made", other: "x" })).json["status"]).toBe("duplicate");
  });

  it("ignores an event whose type would not be one", async () => {
    const answer = await send("signed", { id: 77, event: "what is this" });
    expect([answer.status, answer.json]).toEqual([200, { status: "ignored", cause: "invalid" }]);
  });

  it("gives the answer that its kind demands, and sees the address that the sender used", async () => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "hooks.example" };
    const address = "https://hooks.example/webhook/odd?a=1";
    const answer = await gateway.webhook("odd?a=1", "{}", { ...headers, "x-address": address });
    expect([answer.status, answer.headers.get("x-outcome"), answer.text]).toEqual([200, "stored", ""]);
    const wrong = await gateway.webhook("odd?a=1", "{}", { ...headers, "x-address": "https://other.example/" });
    expect([wrong.status, wrong.json["code"]]).toEqual([500, "internal_error"]);
  });
});

describe("a declared source", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ sourceKinds: [SAMPLE_KIND] });
  });
  afterAll(() => gateway.close());

  it.each([
    ["{ name: a, kind: nothing }", /kind: "nothing" is unknown; choose from .*generic.*sample/],
    ["{ name: a, kind: sample }", /secrets: a source of the kind sample verifies with a secret/],
    ["{ name: a, kind: sample, secrets: [secret-0123456789], options: { strikt: true } }", /options/],
    ["{ name: a, options: { any: 1 } }", /options\.any: the kind generic has no options/],
  ])("%s is rejected with the reason, and nothing of the file is taken over", async (source, reason) => {
    const reloaded = gateway.reload(`event_types: [{ name: new.type }]\nsources: [{ name: b }, ${source}]`);
    await expect(reloaded).rejects.toMatchObject({ code: "config_invalid", message: expect.stringMatching(reason) });
    expect((await gateway.get("/api/v1/event-types")).json["data"]).toEqual([]);
  });

  it("takes the address from POSTHORN_PUBLIC_URL before all else", async () => {
    const seen: string[] = [];
    const spy: SourceKind = { name: "spy", needsSecret: false, verify: ({ url }) => void seen.push(url) };
    const spied = await startTestGateway({
      yaml: "public_url: https://hooks.example/base/\nsources: [{ name: a, kind: spy }]",
      sourceKinds: [spy],
    });
    expect((await spied.webhook("a/sub?x=%20y", "{}", { "x-forwarded-host": "evil.example" })).status).toBe(200);
    await spied.restart({ yaml: "sources: [{ name: a, kind: spy }]" });
    await spied.webhook("a", "{}", { "x-forwarded-host": "evil.example" });
    expect(seen).toEqual(["https://hooks.example/base/webhook/a/sub?x=%20y", `${spied.url}/webhook/a`]);
    await spied.close();
  });
});
