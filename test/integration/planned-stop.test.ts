import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAX_RECOVERIES } from "../../src/model/delivery.ts";
import type { PartMakers } from "../../src/gateway/start.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const STOPS = 20;
const UNCLEAN = "the last run did not stop cleanly, recovering";

describe("planned stops beside destinations that hang", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  beforeEach(async () => {
    sink = await openSinkServer({ answer: "hang" });
    // Too short for any attempt to end by itself.
    gateway = await startTestGateway({ env: { SHUTDOWN_TIMEOUT_S: 1 }, httpCloseMs: 0 });
    for (const ordered of [true, false]) {
      await gateway.subscribe({ name: ordered ? "ordered" : "loose", url: sink.url, ordered });
    }
  });
  afterEach(() => Promise.all([gateway.close(), sink.close()]));

  it("interrupt the attempts, are no crashes, and use up no retries", async () => {
    const { json } = await gateway.publish({ event_type: "order.created", payload: {}, ordering_key: "7" });
    const load = async () => {
      const { deliveries } = await gateway.event(String(json["event_id"]));
      return Promise.all(deliveries.map(({ id }) => gateway.delivery(id)));
    };
    for (let stop = 1; stop <= STOPS; stop++) {
      await sink.received(2 * stop);
      await gateway.restart();
    }
    await sink.received(2 * (STOPS + 1));
    for (const { status, attempts } of await load()) {
      expect(status).toBe("sending");
      expect(attempts).toEqual(
        Array.from({ length: STOPS }, (_, index) =>
          expect.objectContaining({ number: index + 1, result: "error", error: "the gateway stopped" }),
        ),
      );
    }
    sink.answerWith({ status: 200 });
    await gateway.restart();
    await gateway.settled();
    const delivered = { status: "delivered", attempt_count: STOPS + 2 };
    expect(await load()).toMatchObject([delivered, delivered]);
    expect(gateway.log.filter(({ msg }) => msg === UNCLEAN)).toEqual([]);
  });
});

/** A store that does not record results before the gateway gives up waiting for that. */
const TOO_SLOW: PartMakers = {
  openStore: (open) => async (url, options) => {
    const store = await open(url, options);
    return { ...store, lanes: { ...store.lanes, settle: () => undefined } };
  },
};

describe("planned stops whose results are not recorded in time", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  beforeEach(async () => {
    sink = await openSinkServer({ answer: "hang" });
    gateway = await startTestGateway({ env: { SHUTDOWN_TIMEOUT_S: 1 }, httpCloseMs: 0, makers: TOO_SLOW });
    await gateway.subscribe({ name: "slow", url: sink.url });
  });
  afterEach(async () => {
    // So that this stop has to wait for nothing.
    sink.answerWith({ status: 200 });
    await gateway.restart({ makers: {} });
    await Promise.all([gateway.close(), sink.close()]);
  });

  /** As often as a delivery may not be the cause of a crash. Returns the id of its event. */
  async function stopOften(afterStop: () => void): Promise<string> {
    const { json } = await gateway.publish({ event_type: "order.created", payload: {} });
    for (let stop = 1; stop <= MAX_RECOVERIES; stop++) {
      await sink.received(stop);
      let isStopped = false;
      void gateway.stop().then(() => (isStopped = true));
      await gateway.moveClockUntil(() => isStopped);
      afterStop();
      await gateway.restart();
    }
    return String(json["event_id"]);
  }

  it("are no crashes, and each attempt is recorded", async () => {
    const eventId = await stopOften(() => undefined);
    await sink.received(MAX_RECOVERIES + 1);
    const { status, attempts } = await gateway.deliveryOf(eventId);
    expect(status).toBe("sending");
    expect(attempts).toHaveLength(MAX_RECOVERIES);
    expect(gateway.log.filter(({ msg }) => msg === UNCLEAN)).toEqual([]);
  });

  it("are crashes for a start that does not find the mark of the stop (control)", async () => {
    const eventId = await stopOften(() => {
      const file = openSync(join(gateway.dataDir, "in-flight"), "r+");
      writeSync(file, new Uint8Array(8), 0, 8, 0);
      closeSync(file);
    });
    expect(await gateway.deliveryOf(eventId)).toMatchObject({ status: "dead", dead_reason: "poison" });
    expect(gateway.log.filter(({ msg }) => msg === UNCLEAN)).toHaveLength(MAX_RECOVERIES);
  });
});
