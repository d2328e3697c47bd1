import { Type, type Static, type TObject, type TProperties } from "typebox";
import { DEFAULT_CONNECTION } from "../model/connection.ts";
import { kindOptions, choice, wholeNumber } from "./kind-options.ts";

function connectionName(description: string) {
  return Type.Optional(Type.String({ minLength: 1, maxLength: 64, default: DEFAULT_CONNECTION, description }));
}

export function maxDeliveries(usual?: number) {
  return wholeNumber(
    1,
    10_000,
    "A message that was received more often than this but never reached the disk is parked",
    usual,
  );
}

/** The options of all pulled sources. A kind may add its own. */
const PULL_OPTIONS = {
  connection: connectionName("The name of the connection to the broker"),
  queue: Type.String({ minLength: 1, maxLength: 260, description: "The queue that messages are received from" }),
  acknowledge: choice(
    ["stored", "delivered"],
    "When a message leaves its queue: when its event is on disk, or when all its deliveries have ended",
  ),
  max_unacknowledged: wholeNumber(1, 1000, "How many messages are held at once", 32),
  batch_size: wholeNumber(1, 1000, "How many messages are received at once", 32),
  idle_wait_s: Type.Optional(
    Type.Number({
      minimum: 0.1,
      maximum: 3600,
      default: 30,
      description: "How long to wait before an empty queue is asked again",
    }),
  ),
  max_deliveries: maxDeliveries(),
  body: choice(
    ["raw", "message", "event"],
    "What a message contains. `raw`: the event's own bytes; `message`: a whole event sent by another gateway; " +
      "`event`: an event of a bus, in the same form as a published event",
  ),
  own: choice(["skip", "take"], "What to do with messages that this gateway itself has sent"),
  trust_tenant: Type.Optional(
    Type.Boolean({
      default: false,
      description: "With `event`: whether `tenant_id` of a message counts. Else its events are the source's tenant's",
    }),
  ),
  unknown_fields: choice(
    ["keep", "reject"],
    "With `event`: fields of a message that an event does not have are kept in its metadata, or the message is parked",
  ),
  message_key: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 1024,
      description: "With `message`: what credentials among the headers were encrypted with. Default: the gateway's",
    }),
  ),
  claim_check: Type.Optional(
    Type.Object(
      {
        connection: connectionName("The name of a connection of the kind azure-storage-queue"),
        container: Type.String({
          pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$",
          description: "Of Blob storage",
        }),
      },
      {
        additionalProperties: false,
        description: "With `message`: where bodies lie that were too large for the queue",
      },
    ),
  ),
  hold_max_s: wholeNumber(
    10,
    86_400,
    "With `delivered`: how long a message is held where the broker cannot be asked for longer; then it is given " +
      "back. The retries of its target must fit in",
    900,
  ),
  target: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        "While this target is in QUEUE, or its last health check failed, no message is taken; without a health URL, one " +
        "in QUEUE to find out whether it is back",
    }),
  ),
};

export const PullOptions = pullOptions({});

/** The common options and those of one kind, which may have other defaults. */
export function pullOptions<More extends TProperties>(more: More) {
  return kindOptions({ ...PULL_OPTIONS, ...more });
}

/** The options with a default. */
type WithDefaults = Required<
  Pick<
    Static<typeof PullOptions>,
    "connection" | "max_unacknowledged" | "batch_size" | "idle_wait_s" | "hold_max_s" | "body" | "trust_tenant"
  >
>;

export type PullSettings = ReturnType<typeof readPullSettings>;

/** The options were checked when the source was created. `schema`: that of its kind, which has the defaults. */
export function readPullSettings(options: Readonly<Record<string, unknown>>, schema: TObject = PullOptions) {
  const defaults = { ...defaultsOf(PullOptions), ...defaultsOf(schema) };
  const given = { ...defaults, ...options } as Static<typeof PullOptions> & WithDefaults;
  return {
    connection: given.connection,
    isUntilDelivered: given.acknowledge === "delivered",
    maxUnacknowledged: given.max_unacknowledged,
    batchSize: given.batch_size,
    idleWaitMs: given.idle_wait_s * 1000,
    maxDeliveries: given.max_deliveries ?? Number.POSITIVE_INFINITY,
    holdMaxMs: given.hold_max_s * 1000,
    target: given.target,
    body: given.body,
    takesOwn: given.own === "take",
    trustsTenant: given.trust_tenant,
    keepsUnknown: given.unknown_fields !== "reject",
    messageKey: given.message_key,
  };
}

/** Options that were set but do nothing with the source's `body`, in words. */
export function listUnused(options: Readonly<Record<string, unknown>>): string[] {
  const { body } = readPullSettings(options);
  const wanted = { trust_tenant: "event", unknown_fields: "event", message_key: "message", claim_check: "message" };
  return Object.entries(wanted).flatMap(([name, needed]) =>
    options[name] === undefined || options[name] === false || body === needed
      ? []
      : [`${name} does nothing with body: ${body}; it needs body: ${needed}`],
  );
}

function defaultsOf({ properties }: TObject): Record<string, unknown> {
  const schemas = Object.entries(properties) as [string, { default?: unknown }][];
  return Object.fromEntries(schemas.flatMap(([name, schema]) => ("default" in schema ? [[name, schema.default]] : [])));
}
