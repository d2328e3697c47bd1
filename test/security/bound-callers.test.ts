import { get, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until, type Answer, type ApiClient, type ShownDelivery } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { openStream } from "../support/stream-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** Callers that are bound to a tenant: its keys and its portal links. What only operators may do has no detour. */

const JSON_TYPE = { "content-type": "application/json" };
const ANSWER = "canary-answer-of-the-erp";
const LONG_AGO = "2020-01-01T00:00:00Z";
const OPERATOR_AUTH = { type: "bearer", token: "of-the-operator" };

let gateway: TestGateway;
let sink: SinkServer;

beforeEach(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  sink.answerWith({ status: 200, headers: { "x-canary": ANSWER }, body: ANSWER });
  await gateway.post("/api/v1/tenants", { id: "acme" });
});
afterEach(() => Promise.all([gateway.close(), sink.close()]));

async function tokenOf(tenant = "acme", by: ApiClient = gateway): Promise<string> {
  const { json } = await by.post(`/api/v1/tenants/${tenant}/portal-link`);
  return String(json["url"]).split("#token=")[1] ?? "";
}

async function boundCallers(): Promise<[partner: ApiClient, key: ApiClient]> {
  return [gateway.as(await tokenOf()), gateway.as(await gateway.createKey(["admin"], "acme"))];
}

/** By HTTP, with credentials of the operator: the tenant may change it and not use it. */
const subscribeErp = async () =>
  (
    await gateway.subscribe({
      name: "erp",
      url: `${sink.url}/erp`,
      events: ["order.*"],
      tenant_id: "acme",
      auth: OPERATOR_AUTH,
    })
  ).id;

/** Of a kind that is reserved for operators: the tenant may neither change nor use it. */
async function subscribeSms(): Promise<string> {
  const made = await gateway.post("/api/v1/subscriptions", {
    name: "sms",
    kind: "sms",
    events: ["order.*"],
    tenant_id: "acme",
    destination: {
      gateway: "generic-http",
      headers: { authorization: "of-the-operator" },
      to: "+15005550001",
      text: "Your order was sent.",
      url: `${sink.url}/sms`,
    },
  });
  expect([made.status, made.text]).toEqual([201, made.text]);
  return String(made.json["id"]);
}

const subscribeOwn = async (more: object = {}) =>
  (await gateway.subscribe({ name: "own", url: `${sink.url}/own`, events: ["order.*"], tenant_id: "acme", ...more }))
    .id;

const publish = (id: string, type = "order.paid") =>
  gateway.publish({ event_id: id, event_type: type, payload: { n: 1 }, tenant_id: "acme" });
const sentTo = (path: string) => sink.requests.filter((request) => request.path === path).length;

async function deliveryTo(subscriptionId: string): Promise<ShownDelivery> {
  const [delivery] = await gateway.deliveries(`subscription_id=${subscriptionId}`);
  return gateway.delivery(delivery?.id ?? "");
}

/** Resolves when the job has ended. */
async function ended(client: ApiClient, started: Answer): Promise<Answer> {
  expect([started.status, started.text]).toEqual([202, started.text]);
  const path = `/api/v1/replays/${String(started.json["id"])}`;
  await until(async () => (await client.get(path)).json["status"] === "completed");
  return client.get(path);
}

async function expectAll(status: number, client: ApiClient, requests: readonly (readonly [string, unknown?])[]) {
  for (const [path, body] of requests) {
    expect([path, body, (await client.post(path, body)).status]).toEqual([path, body, status]);
  }
}

describe("a replay by a caller that is bound to a tenant", () => {
  it("does not reach a named subscription that the caller may not use", async () => {
    const [sms, erp, own] = [await subscribeSms(), await subscribeErp(), await subscribeOwn()];
    await publish("other", "not.wanted");
    const replay = "/api/v1/events/other/replay";
    const [partner, key] = await boundCallers();
    for (const id of [sms, erp]) {
      const chosen = [
        [replay, { subscription_id: id }],
        ["/api/v1/replays", { kind: "events", filter: { subscription_id: id } }],
        ["/api/v1/replays", { kind: "events", filter: { subscription_id: id }, plan: true }],
        ["/api/v1/replays", { kind: "recover", filter: { subscription_id: id, since: LONG_AGO, include: "all" } }],
        [`/api/v1/subscriptions/${id}/recover`, { since: LONG_AGO, include: "missing" }],
      ] as const;
      await expectAll(403, partner, chosen);
      await expectAll(403, key, [
        ...chosen,
        [replay, { subscription_id: id, payload: { n: 2 } }],
        [replay, { subscription_ids: [own, id], payload: { n: 2 } }],
      ]);
    }
    await gateway.settled();
    expect(sink.requests).toEqual([]);
    // The control: dead letters are the subscription's own choice, so where the tenant may change it, it may repair it.
    for (const client of [partner, key]) {
      await expectAll(202, client, [
        [`/api/v1/subscriptions/${erp}/recover`, { since: LONG_AGO }],
        ["/api/v1/dead-letters/replay", { filter: { subscription_id: erp } }],
      ]);
    }
    // The control: the tenant's own gets it by each of these, and the operator reaches all of them.
    for (const client of [partner, key]) {
      expect((await client.post(replay, { subscription_id: own })).status).toBe(202);
      await gateway.settled();
    }
    expect((await key.post(replay, { subscription_ids: [own], payload: { n: 2 } })).status).toBe(201);
    for (const id of [sms, erp]) {
      expect((await gateway.post(replay, { subscription_id: id })).status).toBe(202);
      expect((await gateway.post(replay, { subscription_ids: [id], payload: { n: 2 } })).status).toBe(201);
    }
    await gateway.settled();
    expect([sentTo("/own"), sentTo("/sms"), sentTo("/erp")]).toEqual([3, 2, 2]);
  });

  it("that names no subscription leaves out those that only operators may change", async () => {
    await Promise.all([subscribeSms(), subscribeErp(), subscribeOwn()]);
    await publish("e1");
    await gateway.settled();
    for (const client of await boundCallers()) {
      const { status, json } = await client.post("/api/v1/events/e1/replay");
      const names = (json["deliveries"] as ShownDelivery[]).map((one) => one["subscription_name"]);
      expect([status, names.map(String).toSorted()]).toEqual([202, ["erp", "own"]]);
      await gateway.settled();
      await ended(client, await client.post("/api/v1/replays", { kind: "events", filter: { since: LONG_AGO } }));
      await gateway.settled();
    }
    expect([sentTo("/own"), sentTo("/erp"), sentTo("/sms")]).toEqual([5, 5, 1]);
    // The control: for an operator it goes to all of them.
    expect((await gateway.post("/api/v1/events/e1/replay")).json["deliveries"]).toHaveLength(3);
    await gateway.settled();
    const all = { kind: "events", filter: { tenant_id: "acme", since: LONG_AGO } };
    expect((await ended(gateway, await gateway.post("/api/v1/replays", all))).json).toMatchObject({ done: 3 });
    await gateway.settled();
    expect(sentTo("/sms")).toBe(3);
  });
});

describe("the answer of a destination", () => {
  const shownTo = async (client: ApiClient, id: string) => {
    const { attempts } = await client.delivery(id);
    return attempts.map(({ response_code: code, response_headers: headers, response_body: body }) => [
      code,
      (headers as Record<string, string> | null)?.["x-canary"] ?? null,
      body,
    ]);
  };
  const SHOWN = [200, ANSWER, ANSWER];
  const HIDDEN = [200, null, null];

  it("is not shown to bound callers where the request had credentials of the operator", async () => {
    const [erp, sms, own] = [await subscribeErp(), await subscribeSms(), await subscribeOwn()];
    await publish("e1");
    await gateway.settled();
    const ids = await Promise.all([erp, sms, own].map(async (id) => (await deliveryTo(id)).id));
    const [ofErp, ofSms, ofOwn] = ids as [string, string, string];
    for (const client of await boundCallers()) {
      expect(await shownTo(client, ofErp)).toEqual([HIDDEN]);
      for (const id of [ofErp, ofSms])
        expect((await client.get(`/api/v1/deliveries/${id}`)).text).not.toContain(ANSWER);
      // The control: answers of the tenant's own destination are the tenant's.
      expect(await shownTo(client, ofOwn)).toEqual([SHOWN]);
    }
    expect(await shownTo(gateway, ofErp)).toEqual([SHOWN]);
    expect((await gateway.get(`/api/v1/deliveries/${ofSms}`)).text).toContain(ANSWER);
  });

  it("stays hidden when the tenant replaces the credentials afterwards, or deletes the subscription", async () => {
    const erp = await subscribeErp();
    await publish("e1");
    await gateway.settled();
    const { id } = await deliveryTo(erp);
    const [partner, key] = await boundCallers();
    const at = `/api/v1/subscriptions/${erp}`;
    const auth = { ...OPERATOR_AUTH, token: "of-the-tenant" };
    const changed = await key.request("PATCH", at, { body: JSON.stringify({ auth }), headers: JSON_TYPE });
    expect(changed.json).toMatchObject({ credentials_by: "tenant" });
    gateway.moveClock(1000);
    expect((await partner.post("/api/v1/events/e1/replay")).status).toBe(202);
    await gateway.settled();
    // The control: the answer to the tenant's own credentials is shown.
    for (const client of [partner, key]) expect(await shownTo(client, id)).toEqual([HIDDEN, SHOWN]);
    await gateway.restart();
    for (const client of [partner, key]) expect(await shownTo(client, id)).toEqual([HIDDEN, SHOWN]);
    expect((await partner.request("DELETE", at)).status).toBeLessThan(300);
    for (const client of [partner, key]) expect(await shownTo(client, id)).toEqual([HIDDEN, HIDDEN]);
    expect(await shownTo(gateway, id)).toEqual([SHOWN, SHOWN]);
  });
});

describe("what was answered before", () => {
  const hidden = {
    status: "delivered",
    attempts: [{ response_code: 200, response_headers: null, response_body: null }],
  };

  it("stays hidden when the tenant deletes the subscription and creates another one with its id", async () => {
    const erp = await subscribeErp();
    await publish("e1");
    await gateway.settled();
    const { id } = await deliveryTo(erp);
    const at = `/api/v1/subscriptions/${erp}`;
    const own = { name: "own", url: `${sink.url}/own`, events: ["order.*"] };
    const create = {
      put: (client: ApiClient) => client.request("PUT", at, { body: JSON.stringify(own), headers: JSON_TYPE }),
      post: (client: ApiClient) => client.post("/api/v1/subscriptions", { id: erp, ...own }),
    };
    for (const client of await boundCallers()) {
      for (const again of [create.put, create.post]) {
        expect((await client.request("DELETE", at)).status).toBeLessThan(300);
        const made = await again(client);
        expect([made.status, made.json]).toMatchObject([201, { id: erp, credentials_by: null }]);
        expect((await client.get(`/api/v1/deliveries/${id}`)).text).not.toContain(ANSWER);
        expect(await client.delivery(id)).toMatchObject(hidden);
      }
    }
    await gateway.restart();
    for (const client of await boundCallers()) expect(await client.delivery(id)).toMatchObject(hidden);
    // The control: the operator sees it, and the tenant what its own destination answers from now on.
    expect((await gateway.get(`/api/v1/deliveries/${id}`)).text).toContain(ANSWER);
    gateway.moveClock(1000);
    await publish("e2");
    await gateway.settled();
    const later = await deliveryTo(erp);
    for (const client of await boundCallers()) {
      expect((await client.get(`/api/v1/deliveries/${later.id}`)).text).toContain(ANSWER);
    }
  });
});

describe("the words of an answer", () => {
  it("stand in no error, list, stream or event of the gateway where bound callers see it", async () => {
    sink.answerWith({ status: 400, headers: { "x-canary": ANSWER }, body: `{"error":"${ANSWER}"}` });
    const destination = { url: `${sink.url}/rows`, auth: OPERATOR_AUTH };
    const rows = { name: "rows", kind: "batch", events: ["order.*"], tenant_id: "acme", destination };
    expect((await gateway.post("/api/v1/subscriptions", rows)).status).toBe(201);
    const insert = { ...destination, url: `${sink.url}/insert`, format: "clickhouse", table: "events" };
    const ofClickHouse = { ...rows, name: "clickhouse", destination: insert };
    const made = await gateway.post("/api/v1/subscriptions", ofClickHouse);
    expect([made.status, made.text]).toEqual([201, made.text]);
    await Promise.all([subscribeErp(), subscribeSms()]);
    const token = await tokenOf();
    const key = await gateway.createKey(["admin"], "acme");
    const streams = await Promise.all([token, key].map((one) => openStream(gateway.url, { key: one })));
    await publish("e1");
    await until(async () => (await gateway.deadLetters()).length === 4);
    const dead = await gateway.deadLetters();
    for (const stream of streams) await stream.received("attempt", 4);
    const paths = ["deliveries", "dead-letters", "dead-letters/groups", "events", "events/export", "subscriptions"];
    for (const client of [token, key].map((one) => gateway.as(one))) {
      for (const path of [...paths, ...dead.map(({ id }) => `deliveries/${id}`)]) {
        const { status, text } = await client.get(`/api/v1/${path}`);
        expect([path, status, text.includes(ANSWER)]).toEqual([path, 200, false]);
      }
    }
    for (const stream of streams) {
      expect(stream.text()).not.toContain(ANSWER);
      stream.close();
    }
    // The control: they see that and how each of them failed, and the operator also the words.
    for (const { id, last_error: error } of dead) {
      expect(error).toContain("answered 400");
      expect((await gateway.delivery(id)).attempts[0]?.["response_body"]).toContain(ANSWER);
    }
  });
});

describe("deliveries of a subscription that only operators may change", () => {
  /** Its deliveries stay open: the operator has paused its target. */
  async function holdOpen(): Promise<{ sms: string; own: string; open: ShownDelivery }> {
    const [sms, own] = [await subscribeSms(), await subscribeOwn()];
    for (const id of [sms, own]) await gateway.post(`/api/v1/targets/${id}/mode`, { mode: "QUEUE" });
    await publish("e1");
    await until(async () => (await gateway.deliveries("status=pending")).length === 2);
    return { sms, own, open: await deliveryTo(sms) };
  }

  async function makeDead(): Promise<{ sms: string; own: string; dead: ShownDelivery }> {
    sink.answerWith({ status: 400 });
    const [sms, own] = [await subscribeSms(), await subscribeOwn()];
    await publish("e1");
    await until(async () => (await gateway.deadLetters()).length === 2);
    return { sms, own, dead: await deliveryTo(sms) };
  }

  it("are not cancelled, retried, drained or held by keys and portal links of the tenant", async () => {
    const { sms, own, open } = await holdOpen();
    const filter = { subscription_id: sms };
    for (const client of await boundCallers()) {
      await expectAll(403, client, [
        [`/api/v1/deliveries/${open.id}/cancel`],
        [`/api/v1/deliveries/${open.id}/retry`],
        ["/api/v1/deliveries/cancel", { filter }],
        ["/api/v1/deliveries/cancel", { filter, plan: true }],
        ["/api/v1/replays", { kind: "cancel", filter }],
        [`/api/v1/subscriptions/${sms}/drain`],
      ]);
      const { json } = await client.post("/api/v1/deliveries/cancel", { filter: { since: LONG_AGO }, plan: true });
      expect(json).toMatchObject({ count: 1 });
    }
    const [partner, key] = await boundCallers();
    for (const mode of ["QUEUE", "NORMAL", "auto"]) {
      for (const name of [sms, "sms"]) await expectAll(403, key, [[`/api/v1/targets/${name}/mode`, { mode }]]);
    }
    const job = await partner.post("/api/v1/deliveries/cancel", { filter: { since: LONG_AGO } });
    expect((await ended(partner, job)).json).toMatchObject({ total: 1, done: 1, filter: { since: LONG_AGO } });
    expect([(await deliveryTo(own)).status, await deliveryTo(sms)]).toMatchObject(["cancelled", open]);
    expect(sink.requests).toEqual([]);
    // The control: an operator may do it.
    expect((await gateway.post(`/api/v1/targets/${sms}/mode`, { mode: "QUEUE" })).status).toBe(200);
    expect((await gateway.post("/api/v1/deliveries/cancel", { filter, plan: true })).json).toMatchObject({ count: 1 });
    expect((await gateway.post(`/api/v1/deliveries/${open.id}/cancel`)).status).toBe(200);
  });

  it("are neither replayed nor purged as dead letters", async () => {
    const { sms, own, dead } = await makeDead();
    const filter = { subscription_id: sms };
    const [partner, key] = await boundCallers();
    for (const client of [partner, key]) {
      await expectAll(403, client, [
        ["/api/v1/dead-letters/replay", { id: dead.id }],
        ["/api/v1/dead-letters/purge", { id: dead.id }],
        ["/api/v1/dead-letters/replay", { filter }],
        ["/api/v1/dead-letters/purge", { filter }],
        ["/api/v1/dead-letters/purge", { filter, confirm: "purge" }],
        [`/api/v1/subscriptions/${sms}/recover`, { since: LONG_AGO }],
        ["/api/v1/replays", { kind: "dead_letters", filter }],
      ]);
    }
    expect((await ended(partner, await partner.post("/api/v1/dead-letters/replay", { all: true }))).json).toMatchObject(
      {
        total: 1,
        done: 1,
      },
    );
    await until(async () => (await gateway.deadLetters()).length === 2);
    expect((await key.post("/api/v1/dead-letters/purge", { all: true })).json).toMatchObject({ count: 1 });
    await ended(key, await key.post("/api/v1/dead-letters/purge", { all: true, confirm: "purge" }));
    expect(await gateway.deadLetters()).toMatchObject([{ id: dead.id }]);
    expect([sentTo("/own"), sentTo("/sms"), await deliveryTo(sms)]).toMatchObject([2, 1, dead]);
    // The control: an operator may do it, and the tenant with its own.
    expect((await gateway.post("/api/v1/dead-letters/purge", { filter })).json).toMatchObject({ count: 1 });
    expect((await gateway.post("/api/v1/dead-letters/replay", { id: dead.id })).status).toBe(202);
    expect((await partner.post(`/api/v1/subscriptions/${own}/recover`, { since: LONG_AGO })).status).toBe(202);
  });

  it("stay in a job of the operator that a tenant would pause, resume or cancel", async () => {
    const { sms, own } = await makeDead();
    // A paused subscription gets nothing, so the jobs wait.
    for (const id of [sms, own]) await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    const start = async (client: ApiClient, filter: object) => {
      const { status, json } = await client.post("/api/v1/replays", { kind: "dead_letters", filter });
      expect(status).toBe(202);
      return `/api/v1/replays/${String(json["id"])}`;
    };
    const reserved = [await start(gateway, { subscription_id: sms }), await start(gateway, { tenant_id: "acme" })];
    const mine = await start(gateway, { subscription_id: own });
    for (const client of await boundCallers()) {
      for (const job of reserved) {
        await expectAll(403, client, [[`${job}/pause`], [`${job}/resume`], [`${job}/cancel`]]);
      }
      // The control: a job on what the tenant may change, and the tenant's own job.
      await expectAll(200, client, [[`${mine}/pause`], [`${mine}/resume`]]);
      await expectAll(200, client, [[`${await start(client, {})}/cancel`]]);
    }
    for (const job of reserved) expect((await gateway.get(job)).json).toMatchObject({ status: "running" });
    for (const job of reserved) expect((await gateway.post(`${job}/cancel`)).status).toBe(200);
  });

  it("are not held up by a target that the tenant changes under them", async () => {
    const change = (client: ApiClient, method: string, name: string, body?: object) =>
      client.request(method, `/api/v1/targets/${name}`, {
        ...(body && { body: JSON.stringify(body) }),
        headers: body ? JSON_TYPE : {},
      });
    for (const name of ["shared", "free"]) {
      expect((await gateway.post("/api/v1/targets", { name, tenant_id: "acme" })).status).toBe(201);
    }
    const sms = await subscribeSms();
    const moved = { body: JSON.stringify({ target: "shared" }), headers: JSON_TYPE };
    expect((await gateway.request("PATCH", `/api/v1/subscriptions/${sms}`, moved)).status).toBe(200);
    await subscribeOwn({ target: "free" });
    const key = gateway.as(await gateway.createKey(["admin"], "acme"));
    const down = { health_url: `${sink.url}/never-well`, health_interval_s: 5 };
    const attempts = async (name: string) => [
      (await key.post(`/api/v1/targets/${name}/mode`, { mode: "QUEUE" })).status,
      (await change(key, "PATCH", name, down)).status,
      (await change(key, "PUT", name, { ...down, max_bytes: 1 })).status,
    ];
    expect(await attempts("shared")).toEqual([403, 403, 403]);
    expect((await change(key, "DELETE", "shared")).status).toBe(403);
    expect((await gateway.get("/api/v1/targets/shared?tenant_id=acme")).json).toMatchObject({
      mode: "NORMAL",
      health_url: null,
    });
    // The control: where only subscriptions send that the tenant may change, it may.
    expect(await attempts("free")).toEqual([200, 200, 200]);
  });
});

describe("streams and exports of portal links", () => {
  const open = (key?: string) => openStream(gateway.url, key === undefined ? {} : { key });

  it("have the places of one key for all links of a tenant together, so that an operator finds one", async () => {
    await gateway.restart({ yaml: "limits: { max_streams: 4, max_streams_per_key: 2 }" });
    await gateway.post("/api/v1/tenants", { id: "other" });
    const links = await Promise.all(Array.from({ length: 4 }, () => tokenOf()));
    const opened = await Promise.all(links.map(open));
    expect(opened.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 429, 429]);
    // The control: links of another tenant and the operator have their own places.
    const others = [await open(await tokenOf("other")), await open()];
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    for (const stream of [...opened, ...others]) stream.close();
  });

  it("are counted for exports as for streams", async () => {
    await gateway.restart({ yaml: "limits: { max_exports: 2, max_exports_per_key: 1 }" });
    const unread: IncomingMessage[] = [];
    const exportUnread = (key: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: `Bearer ${key}` };
        get(`${gateway.url}/api/v1/events/export`, { agent: false, headers }, (response) => {
          response.on("error", () => undefined);
          unread.push(response);
          resolve(response.statusCode);
        }).on("error", reject);
      });
    // Together more than an export could hand to a socket that nobody reads.
    const payload = { filler: "x".repeat(500_000) };
    for (let n = 0; n < 30; n++) {
      expect((await gateway.publish({ event_type: "a.b", payload, tenant_id: "acme" })).status).toBe(202);
    }
    const key = await gateway.createKey(["read"]);
    const statuses = [await exportUnread(await tokenOf()), await exportUnread(await tokenOf())];
    expect(statuses).toEqual([200, 429]);
    // The control: the operator's key has a place of its own.
    expect(await exportUnread(key)).toBe(200);
    for (const response of unread) response.destroy();
  });
});

describe("the history of a subscription", () => {
  interface Change {
    act: string;
    actor: string;
    audit_seq: number | null;
  }
  const historyOf = async (client: ApiClient, id: string) =>
    (await client.get(`/api/v1/subscriptions/${id}/history`)).json["data"] as Change[];

  it("tells a partner whether an operator or a portal link did it, and no more", async () => {
    const maker = gateway.as(await gateway.createKey(["admin"]));
    const partner = gateway.as(await tokenOf("acme", maker));
    const { id } = await maker.subscribe({ name: "own", url: sink.url, tenant_id: "acme" });
    const at = `/api/v1/subscriptions/${id}`;
    await maker.post(`${at}/pause`);
    await partner.post(`${at}/resume`);
    const shown = await historyOf(partner, id);
    expect(shown.map(({ act, actor, audit_seq: seq }) => [act, actor, seq])).toEqual([
      ["subscription.resume", "portal", null],
      ["subscription.pause", "operator", null],
      ["subscription.create", "operator", null],
    ]);
    expect((await partner.get(`${at}/history`)).text).not.toMatch(/key_|config|oidc/);
    // The control: a key sees which key it was, and where the entry is.
    for (const client of [maker, gateway.as(await gateway.createKey(["read"], "acme"))]) {
      const [resume, pause] = await historyOf(client, id);
      expect([resume?.actor, pause?.actor]).toEqual([
        expect.stringMatching(/^portal:key_/),
        expect.stringMatching(/^key:key_/),
      ]);
      expect(resume?.audit_seq).toBeGreaterThan(0);
    }
  });

  it("tells a partner what the gateway itself did", async () => {
    const id = await subscribeOwn();
    sink.answerWith({ status: 410 });
    await publish("e1");
    await until(async () => (await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"] === "suspended");
    const [last] = await historyOf(gateway.as(await tokenOf()), id);
    expect(last).toMatchObject({ act: "subscription.suspend", actor: "gateway", audit_seq: null });
  });
});
