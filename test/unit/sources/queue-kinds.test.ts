import { Value } from "typebox/value";
import { describe, expect, it } from "vitest";
import { AMQP_HOLD_LIMITS } from "../../../src/queues/amqp/amqp-taker.ts";
import { AMQP } from "../../../src/sources/queue-kinds.ts";

describe("the options of a source at RabbitMQ", () => {
  it("hold a message no longer than RabbitMQ lets it, with the margin that the gateway keeps", () => {
    const isTaken = (seconds: number) => Value.Check(AMQP.options, { queue: "orders", hold_max_s: seconds });
    expect([isTaken(900), isTaken(1620), isTaken(1621)]).toEqual([true, true, false]);
    expect(1620_000).toBe(AMQP_HOLD_LIMITS.holdMs * 0.9);
  });
});
