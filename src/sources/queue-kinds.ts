import { Type } from "typebox";
import { DEFAULT_CONNECTION, DEFAULT_NAMESPACE, type BrokerKind, describeQueue } from "../model/connection.ts";
import { PosthornError } from "../model/errors.ts";
import { poisonQueueOf } from "../queues/azure-storage-queue/storage-connection.ts";
import { BrokerFault } from "../queues/broker-fault.ts";
import type { BrokerConnection, TakerOptions } from "../queues/broker.ts";
import { createClaimCheck, type Claims } from "../queues/claim-check.ts";
import type { Connections } from "../queues/connections.ts";
import { wholeNumber } from "./kind-options.ts";
import { maxDeliveries, pullOptions, readPullSettings } from "./pull-options.ts";
import type { KindSettings, PulledSourceKind } from "./source-kind.ts";

/** The differences between brokers. */
export interface BrokerKindSpec {
  name: BrokerKind;
  options: NonNullable<PulledSourceKind["options"]>;
  /** How a queue of the broker is opened. */
  describeTaker(options: Readonly<Record<string, unknown>>): Pick<TakerOptions, "parkTo" | "sessions">;
}

/** Creates the kind of source for a broker's queues. */
export function createBrokerKind(spec: BrokerKindSpec, connections: Connections): PulledSourceKind {
  const claims = new Map<string, Claims>();

  function getConnection(options: Readonly<Record<string, unknown>>): BrokerConnection {
    const name = connectionOf(options);
    const found: BrokerConnection | undefined = connections.find(spec.name, name);
    if (found === undefined) throw new BrokerFault("refused", noConnection(spec.name, name, connections));
    return found;
  }

  return {
    name: spec.name,
    isPulled: true,
    needsSecret: false,
    options: spec.options,
    checkOptions(options) {
      const name = connectionOf(options);
      rejectUnknown(spec.name, name, "options.connection", connections.find(spec.name, name), connections);
      const account = accountOf(options);
      if (account === undefined) return;
      const field = "options.claim_check.connection";
      rejectUnknown("azure-storage-queue", account.name, field, connections.findAccount(account.name), connections);
    },
    async openTaker({ options }) {
      const placed = { namespace: connections.findNamespace(connectionOf(options)), ...options };
      const { maxUnacknowledged } = readPullSettings(options, spec.options);
      const queue = queueOf(options);
      return getConnection(options).openTaker({ ...spec.describeTaker(placed), queue, maxUnacknowledged });
    },
    depth: async ({ options }) => (await getConnection(options).depth(queueOf(options))).ready,
    describePlace: (options) => describeQueue(spec.name, connectionOf(options), queueOf(options)),
    findClaims({ options }: KindSettings) {
      const account = accountOf(options);
      const found = account && connections.findAccount(account.name);
      if (account === undefined || found === undefined) return undefined;
      const key = `${account.name} ${account.container}`;
      const known = claims.get(key) ?? createClaimCheck({ ...account, account: found, maxBytes: MAX_CLAIMED_BYTES });
      claims.set(key, known);
      return known;
    },
  };
}

/** The largest limit that a source may set. */
const MAX_CLAIMED_BYTES = 67_108_864;

function queueOf({ queue }: Readonly<Record<string, unknown>>): string {
  return String(queue);
}

function connectionOf({ connection = DEFAULT_CONNECTION }: Readonly<Record<string, unknown>>): string {
  return String(connection);
}

function accountOf({ claim_check: given }: Readonly<Record<string, unknown>>) {
  if (typeof given !== "object" || given === null) return undefined;
  const { connection = DEFAULT_CONNECTION, container } = given as { connection?: string; container: string };
  return { name: connection, container };
}

function rejectUnknown(
  kind: BrokerKind,
  name: string,
  field: string,
  found: unknown,
  connections: Pick<Connections, "list">,
): void {
  if (found !== undefined) return;
  throw new PosthornError("invalid_field", `${field}: ${noConnection(kind, name, connections)}`, { field });
}

function noConnection(kind: BrokerKind, name: string, { list }: Pick<Connections, "list">): string {
  const names = list().flatMap((one) => (one.kind === kind ? [one.name] : []));
  const there = names.length === 0 ? "there is none of this kind" : `there are ${names.join(", ")}`;
  return (
    `There is no connection "${name}" of the kind ${kind}; ${there}. Add it under \`connections\` in posthorn.yaml ` +
    "and start the gateway again."
  );
}

const FAILED_KEY = "webhook.failed";
/** Messages are given back after 27 of the 30 minutes that RabbitMQ allows. */
const LONGEST_HOLD_S = 1620;

/** A queue of RabbitMQ. Parked messages go to an exchange, with the reason in their headers. */
export const AMQP: BrokerKindSpec = {
  name: "amqp",
  options: pullOptions({
    max_unacknowledged: wholeNumber(1, 1000, "How many messages are held at once: RabbitMQ's prefetch", 10),
    hold_max_s: wholeNumber(
      10,
      LONGEST_HOLD_S,
      "With `delivered`: how long a message is held; then it is given back. The retries of its target must fit in. " +
        "RabbitMQ takes back what is held for 30 minutes",
      900,
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
  describeTaker({ namespace = DEFAULT_NAMESPACE, park_to: parkTo }) {
    const { exchange, routing_key: key } = (parkTo ?? {
      exchange: `${String(namespace)}.dlx`,
      routing_key: FAILED_KEY,
    }) as { exchange: string; routing_key: string };
    return { parkTo: { destination: exchange, subject: key }, sessions: false };
  },
};

/** A queue of Azure Service Bus, or the dead letters of one (`NAME/$DeadLetterQueue`). */
export const AZURE_SERVICE_BUS: BrokerKindSpec = {
  name: "azure-service-bus",
  options: pullOptions({
    sessions: Type.Optional(
      Type.Boolean({
        default: false,
        description: "The queue has sessions: messages of a session are received in order, by one consumer at a time",
      }),
    ),
  }),
  describeTaker: ({ sessions = false }) => ({
    parkTo: { destination: "", subject: "" },
    sessions: sessions === true,
  }),
};

/** A queue of Azure Storage. Parked messages go to `NAME-poison`. */
export const AZURE_STORAGE_QUEUE: BrokerKindSpec = {
  name: "azure-storage-queue",
  options: pullOptions({
    queue: Type.String({
      pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$",
      description: "The queue that messages are received from: 3 to 63 small letters, digits and single dashes",
    }),
    max_deliveries: maxDeliveries(5),
  }),
  describeTaker: ({ queue }) => ({
    parkTo: { destination: poisonQueueOf(String(queue)), subject: "" },
    sessions: false,
  }),
};
