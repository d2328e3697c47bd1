import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** More than a delivery survives if each of them counts as a crash. */
const STOPS = 6;
const UNCLEAN = "the last run did not stop cleanly, recovering";

describe.each([true, false])("planned stops beside a destination that hangs (ordered: %s)", (ordered) => {
  let gateway: TestGateway;
  let sink: SinkServer;
  beforeEach(async () => {
    sink = await openSinkServer({ answer: "hang" });
    // Too short for any attempt to end by itself.
    gateway = await startTestGateway({ env: { SHUTDOWN_TIMEOUT_S: 1 } });
    await gateway.subscribe({ name: "slow", url: sink.url, ordered });
  });
  afterEach(() => Promise.all([gateway.close(), sink.close()]));

  it("interrupt the attempt, are no crash, and use up none of its retries", async () => {
    const { json } = await gateway.publish({ event_type: "order.created", payload: {}, ordering_key: "7" });
    for (let stop = 1; stop <= STOPS; stop++) {
      await sink.received(stop);
      await gateway.restart();
    }
    await sink.received(STOPS + 1);
    const { status, attempts } = await gateway.deliveryOf(String(json["event_id"]));
    expect(status).toBe("sending");
    expect(attempts).toEqual(
      Array.from({ length: STOPS }, (_, index) =>
        expect.objectContaining({ number: index + 1, result: "error", error: "the gateway stopped" }),
      ),
    );
    sink.answerWith({ status: 200 });
    await gateway.restart();
    await gateway.settled();
    expect(await gateway.deliveryOf(String(json["event_id"]))).toMatchObject({
      status: "delivered",
      attempt_count: STOPS + 2,
    });
    expect(gateway.log.filter(({ msg }) => msg === UNCLEAN)).toEqual([]);
  });
});
