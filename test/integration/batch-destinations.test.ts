import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { Answer } from "../support/api-client.ts";
import { openClickHouse, type ClickHouseOptions, type ClickHouseServer } from "../support/clickhouse-server.ts";
import { openSinkServer, type SinkRequest } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const closing: (() => unknown)[] = [];
let gateway: TestGateway;
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function start(options: TestGatewayOptions = {}): Promise<void> {
  gateway = await startTestGateway(options);
  closing.push(() => gateway.close());
}

async function startClickHouse(options: ClickHouseOptions = {}): Promise<ClickHouseServer> {
  const server = await openClickHouse(options);
  closing.push(() => server.close());
  return server;
}

const make = (destination: object, more: object = {}): Promise<Answer> =>
  gateway.post("/api/v1/subscriptions", { name: "a", kind: "batch", events: ["order.*"], destination, ...more });

async function makeAll(destination: object, more: object = {}): Promise<string> {
  const made = await make(destination, more);
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  return `/api/v1/subscriptions/${String(made.json["id"])}`;
}

const ids = (count: number) => Array.from({ length: count }, (_, i) => `e${i}`);
const eventsOf = (list: readonly string[], payload: (id: string) => object = (id) => ({ id })) =>
  list.map((id) => ({ event_type: "order.created", event_id: id, payload: payload(id) }));
const publishAll = (list: readonly object[]) => gateway.post("/api/v1/events", list);
const linesOf = ({ body }: SinkRequest) =>
  body
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** What ClickHouse says of an amount that is no number. */
const refuseTexts: ClickHouseOptions["refuse"] = ({ data }) => {
  const { amount } = data as { amount?: unknown };
  return typeof amount === "number"
    ? undefined
    : { code: 27, status: 400, text: `Cannot parse input: expected number` };
};
const INSERT = { format: "clickhouse", table: "analytics.events", linger_s: 0.05 };

describe("a batch that is posted", () => {
  it("holds what came within its time, as rows in the order of their events, with a signature and a key", async () => {
    await start();
    const sink = await openSinkServer();
    closing.push(() => sink.close());
    const headers = { "X-Api-Key": "k" };
    await makeAll({ url: `${sink.url}/rows`, linger_s: 0.05, headers, auth: { type: "bearer", token: "t0ken" } });
    await publishAll(eventsOf(ids(20)));
    await gateway.settled();
    expect(sink.requests.flatMap((request) => linesOf(request).map((row) => row["event_id"]))).toEqual(ids(20));
    const [first] = sink.requests as [SinkRequest];
    expect(first.headers).toMatchObject({
      "content-type": "application/x-ndjson",
      "x-api-key": "k",
      authorization: "Bearer t0ken",
      "idempotency-key": expect.stringMatching(/^[0-9a-f]{32}$/),
      "webhook-signature": expect.stringMatching(/^v1,/),
    });
    expect(linesOf(first)[0]).toMatchObject({ event_type: "order.created", source: "api", data: { id: "e0" } });
    const { attempts } = await gateway.deliveryOf("e0");
    expect(attempts).toMatchObject([
      { result: "success", url: `${sink.url}/rows`, response_code: 200, record: { rows: linesOf(first).length } },
    ]);
    expect(JSON.stringify(attempts)).not.toContain("t0ken");
  });

  it("may be compressed, and of payloads alone, whose bytes stay as they are", async () => {
    await start();
    const sink = await openSinkServer();
    closing.push(() => sink.close());
    await makeAll({ url: sink.url, gzip: true, rows: "payload", linger_s: 0 });
    const text = '{"event_type":"order.created","event_id":"big","payload":{"n":9007199254740993}}';
    const sent = await gateway.request("POST", "/api/v1/events", {
      body: text,
      headers: { "content-type": "application/json" },
    });
    expect(sent.status).toBe(202);
    const [request] = (await sink.received(1)) as [SinkRequest];
    expect(gunzipSync(request.body).toString("utf8")).toBe('{"n":9007199254740993}\n');
    expect(request.headers["content-encoding"]).toBe("gzip");
  });
});

describe("batches of which one fails", () => {
  const rowsOf = (requests: readonly SinkRequest[]) =>
    requests.map((request) => linesOf(request).map((row) => String(row["event_id"])));

  /** `atOnce` is how many are sent before the one that fails is due again. */
  async function failOnce(more: object, atOnce: number): Promise<string[][]> {
    await start();
    const sink = await openSinkServer({ answer: { status: 200 } });
    closing.push(() => sink.close());
    sink.answerWith((_, index) => ({ status: index === 1 ? 500 : 200 }));
    const retry_policy = { delays_s: [60, 60, 60] };
    const path = await makeAll({ url: sink.url, max_rows: 4, linger_s: 60 }, { retry_policy, ...more });
    await gateway.post(`${path}/pause`, {});
    await publishAll(eventsOf(ids(12)));
    await gateway.post(`${path}/resume`, {});
    await sink.received(atOnce);
    await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    return rowsOf(sink.requests);
  }

  it("keep the order where the subscription is ordered: the next begins with the same rows", async () => {
    const [first, failed, again, last] = [
      ids(12).slice(0, 4),
      ids(12).slice(4, 8),
      ids(12).slice(4, 8),
      ids(12).slice(8),
    ];
    expect(await failOnce({ ordered: true }, 2)).toEqual([first, failed, again, last]);
  });

  it("overtake it otherwise, and all rows arrive", async () => {
    const sent = await failOnce({}, 3);
    expect(sent[2]).toEqual(ids(12).slice(8));
    expect(sent.at(-1)).toEqual(ids(12).slice(4, 8));
  });

  it("leave rows behind a rejected one waiting where that one blocks, and send them where it is skipped", async () => {
    await start();
    const server = await startClickHouse({ refuse: refuseTexts });
    const bad = new Set(["e2"]);
    const more = { ordered: true, on_dead_head: "block" };
    const path = await makeAll({ ...INSERT, url: server.url }, more);
    await gateway.post(`${path}/pause`, {});
    await publishAll(eventsOf(ids(6), (id) => ({ amount: bad.has(id) ? "much" : 1 })));
    await gateway.post(`${path}/resume`, {});
    await expect.poll(async () => (await gateway.deadLetters()).map((one) => one.event_id)).toEqual(["e2"]);
    await expect.poll(async () => (await gateway.deliveryOf("e3")).attempt_count).toBe(1);
    expect(server.rows.map((row) => row["event_id"])).toEqual(["e0", "e1"]);
    const patched = await gateway.request("PATCH", path, {
      body: JSON.stringify({ on_dead_head: "skip" }),
      headers: { "content-type": "application/json" },
    });
    expect(patched.status).toBe(200);
    await gateway.settled();
    expect(server.rows.map((row) => row["event_id"])).toEqual(ids(6).filter((id) => !bad.has(id)));
  });
});

describe("a batch for ClickHouse", () => {
  // shows: C7
  it("is split when a row is rejected: that row is a dead letter with the reason, its neighbours are there", async () => {
    await start();
    const server = await startClickHouse({ refuse: refuseTexts, user: { name: "posthorn", password: "pw" } });
    const auth = { type: "basic", username: "posthorn", password: "pw" };
    const path = await makeAll({ ...INSERT, url: server.url, auth, gzip: true });
    await gateway.post(`${path}/pause`, {});
    const bad = new Set(["e7", "e8", "e31"]);
    await publishAll(eventsOf(ids(40), (id) => ({ amount: bad.has(id) ? "much" : 1 })));
    await gateway.post(`${path}/resume`, {});
    await gateway.settled();
    expect(server.rows.map((row) => row["event_id"])).toEqual(ids(40).filter((id) => !bad.has(id)));
    const dead = await gateway.deadLetters();
    expect(dead.map((one) => one.event_id).toSorted()).toEqual([...bad].toSorted());
    for (const one of dead) {
      const { attempts } = await gateway.delivery(one.id);
      expect([one.dead_reason, one.last_error, attempts.at(-1)?.["response_body"]]).toEqual([
        "refused",
        "answered 400",
        expect.stringMatching(/Code: 27.*expected number/),
      ]);
    }
    expect((await gateway.deliveryOf("e0")).attempts).toHaveLength(1);
  });

  it("is sent again as a whole, with the same token, when its answer was lost: no row is there twice", async () => {
    await start();
    const server = await startClickHouse();
    const path = await makeAll({ ...INSERT, url: server.url }, { timeout: 1, retry_policy: { delays_s: [1, 1, 1] } });
    await gateway.post(`${path}/pause`, {});
    await publishAll(eventsOf(ids(10)));
    server.loseAnswers(true);
    await gateway.post(`${path}/resume`, {});
    await expect.poll(() => server.rows.length).toBe(10);
    await gateway.moveClockUntil(async () => (await gateway.deliveryOf("e0")).attempt_count > 0);
    server.loseAnswers(false);
    await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    expect(new Set(server.inserts.map(({ token }) => token)).size).toBe(1);
    expect(server.inserts.length).toBeGreaterThan(1);
    expect(server.rows.map((row) => row["event_id"])).toEqual(ids(10));
  });

  it("waits as long as it is told to, and loses nothing while the table is missing or the password is wrong", async () => {
    await start();
    const server = await startClickHouse({ user: { name: "posthorn", password: "pw" } });
    const wrong = { type: "basic", username: "posthorn", password: "wrong" };
    const retries = { retry_policy: { delays_s: Array(20).fill(0.1) } };
    const path = await makeAll({ ...INSERT, table: "analytics.later", url: server.url, auth: wrong }, retries);
    await publishAll(eventsOf(ids(5)));
    const lastAnswer = async () => (await gateway.deliveryOf("e0")).attempts.at(-1)?.["response_body"];
    await expect.poll(lastAnswer).toMatch(/Authentication failed/);
    expect(await gateway.deadLetters()).toEqual([]);
    const patched = await gateway.request("PATCH", path, {
      body: JSON.stringify({ destination: { ...INSERT, url: server.url, auth: { ...wrong, password: "pw" } } }),
      headers: { "content-type": "application/json" },
    });
    expect(patched.status).toBe(200);
    server.interrupt((_, index) => (index % 3 === 2 ? undefined : { status: 429, headers: { "retry-after": "1" } }));
    for (let step = 0; server.rows.length < 5 && step < 200; step++) {
      gateway.moveClock(1000);
      await new Promise((resolve) => setImmediate(resolve));
      await gateway.get("/status");
    }
    await gateway.settled();
    expect(server.rows.map((row) => String(row["event_id"])).toSorted()).toEqual(ids(5));
  });

  it("keeps its account under random rejections: none lost, none twice, in order where nothing failed", async () => {
    const random = createSeededRandom(7);
    await start();
    const server = await startClickHouse({ refuse: refuseTexts });
    await makeAll({ ...INSERT, url: server.url, max_rows: 60 }, { suspend_after_dead: null });
    const bad = new Set(ids(600).filter(() => random.next() < 0.03));
    for (let from = 0; from < 600; from += 100) {
      const some = ids(600).slice(from, from + 100);
      await publishAll(eventsOf(some, (id) => ({ amount: bad.has(id) ? "much" : 1 })));
    }
    await gateway.settled();
    expect(server.rows.map((row) => row["event_id"])).toEqual(ids(600).filter((id) => !bad.has(id)));
    const dead = await gateway.deadLetters();
    expect(dead.map((one) => one.event_id).toSorted()).toEqual([...bad].toSorted());
  });
});

describe("a batch for files", () => {
  function makeFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-batches-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    return folder;
  }

  it("is appended as rows, and the file goes on after a restart", async () => {
    const folder = makeFolder();
    const path = join(folder, "orders.ndjson");
    await start({ env: { BATCH_DIR: folder } });
    await makeAll({ path, rows: "payload", linger_s: 0.02 });
    await publishAll(eventsOf(ids(3)));
    await gateway.settled();
    await gateway.restart();
    await publishAll(eventsOf(["e3"]));
    await gateway.settled();
    expect(readFileSync(path, "utf8")).toBe(
      ids(4)
        .map((id) => `{"id":"${id}"}\n`)
        .join(""),
    );
    expect((await gateway.deliveryOf("e3")).attempts).toMatchObject([{ url: `file:${path}`, record: { rows: 1 } }]);
  });

  it("begins a new file when one is large enough", async () => {
    const folder = makeFolder();
    const path = join(folder, "orders.ndjson");
    await start({ env: { BATCH_DIR: folder } });
    await makeAll({ path, rows: "payload", max_rows: 10, linger_s: 0.02, rotate_bytes: 1024 });
    await publishAll(eventsOf(ids(100), (id) => ({ id, text: "x".repeat(50) })));
    await gateway.settled();
    const names = readdirSync(folder);
    expect(names.length).toBeGreaterThan(3);
    const rotated = names.filter((name) => name !== "orders.ndjson").toSorted();
    const rows = [...rotated, "orders.ndjson"].flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"));
    expect(rows.filter((row) => row !== "").length).toBe(100);
  });

  it("is the operator's: a tenant's key makes none, nor turns one of its own into one", async () => {
    const folder = makeFolder();
    await start({ env: { BATCH_DIR: folder } });
    const key = await gateway.createKey(["admin"], "acme");
    const tenant = gateway.as(key);
    const own = { name: "a", kind: "batch", events: ["order.*"] };
    const path = join(folder, "orders.ndjson");
    const refused = await tenant.post("/api/v1/subscriptions", { ...own, destination: { path } });
    expect([refused.status, refused.json["code"]]).toEqual([403, "forbidden"]);
    const url = "http://127.0.0.1:9/rows";
    const made = await tenant.post("/api/v1/subscriptions", { ...own, destination: { url } });
    expect(made.status).toBe(201);
    const turned = await tenant.request("PATCH", `/api/v1/subscriptions/${String(made.json["id"])}`, {
      body: JSON.stringify({ destination: { path } }),
      headers: { "content-type": "application/json" },
    });
    expect(turned.status).toBe(403);
  });

  it("is rejected where the gateway has no folder for it, and outside of that folder", async () => {
    await start();
    expect((await make({ path: "/srv/a" })).json).toMatchObject({ status: 422, field: "destination.path" });
  });
});
