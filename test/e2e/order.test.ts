import { describe, expect, it } from "vitest";
import type { BrokenPromises } from "../support/broken-promises.mjs";
import { count, report } from "../support/report.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const YAML = `
sources:
  - name: rows
    ordering_key_from: body:/key
`;
const KEYS = 20;
const PER_KEY = 30;

interface Row {
  key: string;
  n: number;
}

const rowOf = (body: Buffer) => JSON.parse(body.toString()) as Row;

/** R7 and R8 over the real server, with a destination that fails now and then. */
describe("an ordered subscription", () => {
  /** Each key's events one after another, all keys at once, while one in ten attempts fails. */
  async function run(broken: BrokenPromises): Promise<{ gateway: TestGateway; sink: SinkServer; accepted: Row[] }> {
    const accepted: Row[] = [];
    let attempts = 0;
    const sink = await openSinkServer({
      answer: ({ body }) => {
        attempts++;
        const fails = attempts % 10 === 3;
        if (!fails) accepted.push(rowOf(body));
        // 500 is a failure of this one delivery; the breaker, which has tests of its own, stays closed.
        return { status: fails ? 500 : 200, delayMs: attempts % 3 };
      },
    });
    const gateway = await startTestGateway({ yaml: YAML, broken });
    await gateway.subscribe({
      name: "rows",
      url: sink.url,
      ordered: true,
      retry_policy: { delays_s: Array(20).fill(0.05) },
    });
    await Promise.all(
      Array.from({ length: KEYS }, async (_, key) => {
        for (let n = 0; n < PER_KEY; n++) {
          const answer = await gateway.webhook("rows", JSON.stringify({ key: `k${key}`, n }));
          expect(answer.status).toBe(202);
        }
      }),
    );
    await gateway.settled();
    await Promise.all([gateway.close(), sink.close()]);
    return { gateway, sink, accepted };
  }

  function countViolations(rows: readonly Row[]): number {
    const latest = new Map<string, number>();
    let violations = 0;
    for (const { key, n } of rows) {
      if (n < (latest.get(key) ?? -1)) violations++;
      latest.set(key, Math.max(n, latest.get(key) ?? -1));
    }
    return violations;
  }

  // shows: A2
  it("gets each key's events in their order, once each, whatever fails meanwhile", async () => {
    const { accepted } = await run({});
    const violations = countViolations(accepted);
    const duplicates = accepted.length - new Set(accepted.map(({ key, n }) => `${key} ${n}`)).size;
    report(
      `R7 order violations per key: ${violations} of ${count(accepted.length)} events of ${KEYS} keys, one attempt in ten failing`,
    );
    report(`R8 duplicates without a fault of the gateway: ${duplicates} of ${count(accepted.length)}`);
    expect([violations, duplicates, accepted.length]).toEqual([0, 0, KEYS * PER_KEY]);
  });

  it("gets them out of order when order is ignored: this test can fail", async () => {
    const { accepted } = await run({ ignoreOrder: true });
    expect(countViolations(accepted)).toBeGreaterThan(0);
  });

  async function openBlocked(settings: object): Promise<{ gateway: TestGateway; sink: SinkServer; id: string }> {
    const sink = await openSinkServer({ answer: ({ body }) => ({ status: rowOf(body).n === 0 ? 400 : 200 }) });
    const gateway = await startTestGateway({ yaml: YAML });
    const { id } = await gateway.subscribe({ name: "rows", url: sink.url, ordered: true, ...settings });
    for (const key of ["a", "b"]) {
      for (let n = key === "a" ? 0 : 1; n < 4; n++) await gateway.webhook("rows", JSON.stringify({ key, n }));
    }
    return { gateway, sink, id };
  }
  const seen = (sink: SinkServer, key: string) =>
    sink.requests
      .map(({ body }) => rowOf(body))
      .filter((row) => row.key === key)
      .map(({ n }) => n);

  it("blocks a key behind a dead letter, and no other key", async () => {
    const { gateway, sink } = await openBlocked({});
    await sink.received(4);
    await expect.poll(async () => (await gateway.deadLetters()).length).toBe(1);
    await expect.poll(() => seen(sink, "b")).toEqual([1, 2, 3]);
    const held = await gateway.deliveries("status=pending");
    expect(held.map(({ hold_reason }) => hold_reason)).toEqual(["ordering_key", "ordering_key", "ordering_key"]);
    expect(seen(sink, "a")).toEqual([0]);

    // The first of those that wait cannot be pulled ahead of its key.
    const early = await gateway.post(`/api/v1/deliveries/${held.at(-1)?.id}/retry`);
    expect([early.status, early.json["code"]]).toEqual([409, "illegal_transition"]);
    // Replayed with success, the dead letter lets the others go, in order.
    sink.answerWith({ status: 200 });
    const [dead] = await gateway.deadLetters();
    await gateway.post("/api/v1/dead-letters/replay", { id: dead?.id });
    await gateway.settled();
    expect(seen(sink, "a")).toEqual([0, 0, 1, 2, 3]);
    await Promise.all([gateway.close(), sink.close()]);
  });

  it("goes on behind a dead letter that is cancelled by hand", async () => {
    const { gateway, sink } = await openBlocked({});
    await expect.poll(async () => (await gateway.deadLetters()).length).toBe(1);
    const [dead] = await gateway.deadLetters();
    const cancelled = await gateway.post(`/api/v1/deliveries/${dead?.id}/cancel`);
    expect([cancelled.status, cancelled.json["status"]]).toEqual([200, "cancelled"]);
    await gateway.settled();
    expect(seen(sink, "a")).toEqual([0, 1, 2, 3]);
    await Promise.all([gateway.close(), sink.close()]);
  });

  it("skips a dead letter when it is told to, from the start or later", async () => {
    const { gateway, sink, id } = await openBlocked({});
    await expect.poll(async () => (await gateway.deadLetters()).length).toBe(1);
    const body = { body: '{"on_dead_head":"skip"}', headers: { "content-type": "application/json" } };
    expect((await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, body)).status).toBe(200);
    await gateway.settled();
    expect(seen(sink, "a")).toEqual([0, 1, 2, 3]);
    await gateway.webhook("rows", '{"key":"a","n":0}');
    await gateway.webhook("rows", '{"key":"a","n":9}');
    await gateway.settled();
    expect(seen(sink, "a")).toEqual([0, 1, 2, 3, 0, 9]);
    await Promise.all([gateway.close(), sink.close()]);
  });

  it("keeps keys apart that differ beyond 2^53", async () => {
    const sink = await openSinkServer({
      answer: ({ body }) => (body.includes("992") ? { status: 400 } : { status: 200 }),
    });
    const gateway = await startTestGateway({ yaml: YAML });
    await gateway.subscribe({ name: "rows", url: sink.url, ordered: true });
    await gateway.webhook("rows", '{"key":9007199254740992}');
    await gateway.webhook("rows", '{"key":9007199254740993}');
    await sink.received(2);
    expect((await gateway.event(String(sink.requests[1]?.headers["webhook-id"])))["ordering_key"]).toBe(
      "9007199254740993",
    );
    await Promise.all([gateway.close(), sink.close()]);
  });
});
