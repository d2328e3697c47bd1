import { describe, expect, it } from "vitest";
import { count, report } from "../support/report.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const YAML = "sources: [{ name: shop, id_from: 'header:X-Event-Id' }]";
const RACERS = 100;

/** R9: an id that came in many times, at once and over restarts, goes out once. */
describe("an id that is sent many times", () => {
  async function withGateway(
    run: (gateway: TestGateway, sink: SinkServer) => Promise<void>,
    broken: { forgetDedupe?: boolean } = {},
  ): Promise<void> {
    const [gateway, sink] = await Promise.all([startTestGateway({ yaml: YAML, broken }), openSinkServer()]);
    try {
      await gateway.subscribe({ name: "all", url: sink.url });
      await run(gateway, sink);
    } finally {
      await Promise.all([gateway.close(), sink.close()]);
    }
  }

  /** How often each id was delivered beyond once. */
  function repeats(sink: SinkServer, idOf: (body: string) => string): number {
    const ids = sink.requests.map(({ body }) => idOf(body.toString()));
    return ids.length - new Set(ids).size;
  }

  const race = (gateway: TestGateway, id: string, racers = RACERS) =>
    Promise.all(
      Array.from({ length: racers }, (_, n) =>
        gateway.webhook("shop", JSON.stringify({ id, n }), { "x-event-id": id }),
      ),
    );
  const idOf = (body: string) => (JSON.parse(body) as { id: string }).id;

  // shows: B43
  it("in a race makes one event, delivered once; all others are told which", async () => {
    await withGateway(async (gateway, sink) => {
      const rounds = 10;
      for (let round = 0; round < rounds; round++) {
        const answers = await race(gateway, `race-${round}`);
        const stored = answers.filter(({ status }) => status === 202);
        expect(stored).toHaveLength(1);
        const id = stored[0]?.json["event_id"];
        for (const answer of answers.filter((one) => one !== stored[0])) {
          expect([answer.status, answer.json]).toEqual([200, { status: "duplicate", event_id: id }]);
        }
      }
      await gateway.settled();
      expect(sink.requests).toHaveLength(rounds);
      const events = (await gateway.get("/api/v1/events?limit=500")).json["data"] as unknown[];
      expect(events).toHaveLength(rounds);
      report(
        `R9 duplicate inbound ids delivered twice: ${repeats(sink, idOf)} of ${count(rounds * RACERS)} posts of ${rounds} ids`,
      );
    });
  });

  it("is still known after restarts, and after its delivery has ended", async () => {
    await withGateway(async (gateway, sink) => {
      const first = await gateway.webhook("shop", '{"id":"kept"}', { "x-event-id": "kept" });
      await gateway.settled();
      for (let start = 0; start < 3; start++) {
        await gateway.restart();
        const answers = await race(gateway, "kept", 10);
        expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
        expect(answers[0]?.json["event_id"]).toBe(first.json["event_id"]);
      }
      await gateway.settled();
      expect(sink.requests).toHaveLength(1);
    });
  });

  it("among published events is one, in one batch, over batches, and in a race of batches", async () => {
    await withGateway(async (gateway, sink) => {
      const event = (id: string) => ({ event_type: "order.created", event_id: id, payload: { id } });
      const inBatch = await gateway.publish([event("a"), event("b"), event("a"), event("a")]);
      const flags = (inBatch.json["events"] as { duplicate: boolean }[]).map(({ duplicate }) => duplicate);
      expect(flags).toEqual([false, false, true, true]);
      const batch = Array.from({ length: 100 }, (_, n) => event(`batch-${n}`));
      const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.publish(batch)));
      const accepted = answers
        .flatMap(({ json }) => json["events"] as { event_id: string; duplicate: boolean }[])
        .filter(({ duplicate }) => !duplicate);
      expect(accepted).toHaveLength(100);
      await gateway.settled();
      expect(sink.requests).toHaveLength(102);
      expect(new Set(sink.requests.map(({ headers }) => headers["webhook-id"])).size).toBe(102);
    });
  });

  it("goes out twice when ids are forgotten: this test can fail", async () => {
    await withGateway(
      async (gateway, sink) => {
        await race(gateway, "forgotten", 20);
        await gateway.settled();
        expect(repeats(sink, idOf)).toBeGreaterThan(0);
      },
      { forgetDedupe: true },
    );
  });
});
