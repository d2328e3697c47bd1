import { Type } from "typebox";
import { DEFAULT_NAMESPACE } from "../model/connection.ts";
import { pullOptions } from "./pull-options.ts";
import type { BrokerKindSpec } from "./broker-kind.ts";

const MAX_UNACKNOWLEDGED = 10;
const FAILED_KEY = "webhook.failed";
/** RabbitMQ's consumer timeout is 30 minutes, and nothing can make it longer; messages are given back at 27. */
const CONSUMER_TIMEOUT_MS = 30 * 60_000;
const LONGEST_HOLD_S = 1620;

/** A queue of RabbitMQ. Parked messages go to an exchange, with the reason in their headers. */
export const AMQP: BrokerKindSpec = {
  name: "amqp",
  options: pullOptions({
    max_unacknowledged: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        default: MAX_UNACKNOWLEDGED,
        description: "How many messages are held at once: RabbitMQ's prefetch",
      }),
    ),
    hold_max_s: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: LONGEST_HOLD_S,
        default: 900,
        description:
          "With `delivered`: how long a message is held; then it is given back. The retries of its target must fit in. " +
          "RabbitMQ takes back what is held for 30 minutes",
      }),
    ),
    namespace: Type.Optional(
      Type.String({
        pattern: "^[A-Za-z0-9_.-]{1,64}$",
        description:
          "Parked messages go to the exchange `NAMESPACE.dlx`; by default the namespace of the connection's topology",
      }),
    ),
    park_to: Type.Optional(
      Type.Object(
        {
          exchange: Type.String({
            maxLength: 255,
            description: "An empty name sends straight to the queue with that routing key",
          }),
          routing_key: Type.String({ minLength: 1, maxLength: 255 }),
        },
        { additionalProperties: false, description: "Where parked messages go instead" },
      ),
    ),
  }),
  pull: {
    limits: { holdMs: CONSUMER_TIMEOUT_MS, canRenew: false },
    defaults: { maxUnacknowledged: MAX_UNACKNOWLEDGED },
  },
  describeTaker({ namespace = DEFAULT_NAMESPACE, park_to: parkTo }) {
    const { exchange, routing_key: key } = (parkTo ?? {
      exchange: `${String(namespace)}.dlx`,
      routing_key: FAILED_KEY,
    }) as { exchange: string; routing_key: string };
    return { parkTo: { destination: exchange, subject: key }, sessions: false, holdMs: 0 };
  },
};
