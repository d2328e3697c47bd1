import { connect } from "amqplib";
import { describe, expect, it } from "vitest";
import { createAmqpConnection } from "../../../src/queues/amqp/amqp-connection.ts";
import { faultOutcome } from "../../../src/destinations/queue/sender.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { toMessage } from "../../contract/broker-world.ts";
import { MAX_MESSAGE_BYTES } from "../../support/services/rabbitmq.ts";
import { useRabbitMqPlace } from "../../support/services/shared.ts";

describe("a message that is larger than RabbitMQ was told to accept", () => {
  it("is too large by itself: those beside it are sent again, and those after it arrive", async (context) => {
    const { url } = await useRabbitMqPlace(context);
    const clock = createSystemClock();
    const connection = createAmqpConnection({ url, label: "test", clock, random: createSeededRandom(1) });
    const model = await connect(url);
    const { queue } = await (await model.createChannel()).assertQueue("", { exclusive: true });
    const publisher = connection.openPublisher("");

    const sizes = [MAX_MESSAGE_BYTES + 1, 10, 10];
    const all = await Promise.all(sizes.map((size) => publisher.publish(toMessage(Buffer.alloc(size), queue))));
    const kinds = all.map((one) => (one.outcome === "failed" ? one.fault.kind : one.outcome));
    expect(kinds).toEqual(["too_large", "lost", "lost"]);
    const faults = all.flatMap((one) => (one.outcome === "failed" ? [one.fault] : []));
    expect(faults[0]?.message).toContain(String(MAX_MESSAGE_BYTES));
    expect(faults.map((fault) => faultOutcome(fault).kind)).toEqual(["refused", "failed", "failed"]);

    const again = await publisher.publish(toMessage(Buffer.alloc(MAX_MESSAGE_BYTES), queue));
    expect(again).toEqual({ outcome: "confirmed" });
    await connection.close();
    await model.close();
  });
});
