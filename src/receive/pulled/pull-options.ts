import { Type, type Static } from "typebox";

/** What a pulled source says of its queue. A kind has these as its options, and may add its own. */
export const PullOptions = Type.Object(
  {
    connection: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        default: "default",
        description: "The name of the connection to the broker",
      }),
    ),
    queue: Type.String({ minLength: 1, maxLength: 260, description: "The queue that messages are taken from" }),
    acknowledge: Type.Optional(
      Type.Union([Type.Literal("stored"), Type.Literal("delivered")], {
        default: "stored",
        description:
          "When a message leaves its queue: when its event is on disk, or when all its deliveries have ended",
      }),
    ),
    max_unacknowledged: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, default: 32, description: "How many messages are held at once" }),
    ),
    batch_size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, default: 32, description: "How many are taken at once" }),
    ),
    idle_wait_s: Type.Optional(
      Type.Number({ minimum: 0.1, maximum: 3600, default: 30, description: "Until an empty queue is asked again" }),
    ),
    max_deliveries: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: "A message that was taken more often than this, and never reached the disk, is parked",
      }),
    ),
    hold_max_s: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 86_400,
        default: 900,
        description: "How long a message is held where the broker cannot be asked for longer; then it is given back",
      }),
    ),
    target: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: "While this target is in QUEUE no message is taken, or one to find out where it has no health URL",
      }),
    ),
  },
  { additionalProperties: false },
);

export interface PullSettings {
  isUntilDelivered: boolean;
  maxUnacknowledged: number;
  batchSize: number;
  idleWaitMs: number;
  maxDeliveries: number;
  holdMaxMs: number;
  target: string | undefined;
}

/** They were checked when the source was made. */
export function readPullSettings(options: Readonly<Record<string, unknown>>): PullSettings {
  const given = options as Static<typeof PullOptions>;
  const { properties } = PullOptions;
  return {
    isUntilDelivered: given.acknowledge === "delivered",
    maxUnacknowledged: given.max_unacknowledged ?? defaultOf(properties.max_unacknowledged),
    batchSize: given.batch_size ?? defaultOf(properties.batch_size),
    idleWaitMs: (given.idle_wait_s ?? defaultOf(properties.idle_wait_s)) * 1000,
    maxDeliveries: given.max_deliveries ?? Number.POSITIVE_INFINITY,
    holdMaxMs: (given.hold_max_s ?? defaultOf(properties.hold_max_s)) * 1000,
    target: given.target,
  };
}

function defaultOf(schema: object): number {
  return (schema as { default: number }).default;
}
