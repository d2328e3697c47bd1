import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../support/api-client.ts";
import { connect, findConnection, SHARED_QUEUES } from "../../support/brokers/shared-queues.ts";
import { openSinkServer } from "../../support/sink-server.ts";
import { startTestGateway } from "../../support/test-gateway.ts";
import { toMessage } from "../../contract/broker-world.ts";

/** Half of the time for which a message is held, and a bit: it is renewed then. */
const RENEW_MS = 16_000;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

describe.each(["azure-service-bus", "azure-storage-queue"] as const)("a source of the kind %s", (kind) => {
  it("has its hands free for others when a message that it held is lost, and delivers what it has stored", async (context) => {
    const shared = await SHARED_QUEUES[kind](context);
    closing.push(() => shared.close());
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const sink = await openSinkServer({ answer: { status: 200, after: answered } });
    closing.push(() => sink.close());
    const options = { queue: shared.queue, body: "event", acknowledge: "delivered", idle_wait_s: 1 };
    const gateway = await startTestGateway({
      yaml: JSON.stringify({
        connections: [shared.input],
        sources: [{ name: "in", kind, options: { ...options, max_unacknowledged: 1 } }],
        subscriptions: [{ name: "all", url: sink.url, events: ["order.*"], timeout: 120, retry_policy: "short" }],
      }),
    });
    closing.push(() => gateway.close());
    const connections = connect(shared.input);
    closing.push(() => connections.close());
    const connection = findConnection(connections, shared.input);
    const publisher = connection.openPublisher(shared.queue);
    const publish = (id: string) =>
      publisher.publish(
        toMessage(JSON.stringify({ event_id: id, event_type: "order.created", payload: { id } }), "order.created"),
      );

    expect(await publish("e1")).toEqual({ outcome: "confirmed" });
    await sink.received(1);
    await shared.empty(shared.queue);
    gateway.moveClock(RENEW_MS);
    expect(await publish("e2")).toEqual({ outcome: "confirmed" });
    await until(() => sink.requests.length === 2, undefined, "the second");
    answer();
    await until(async () => (await connection.depth(shared.queue)).ready === 0);
    await gateway.settled();
    expect(await gateway.deliveries("status=delivered")).toHaveLength(2);
  });
});
