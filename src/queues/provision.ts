import {
  DEFAULT_CONNECTION,
  DEFAULT_NAMESPACE,
  DEFAULT_QUEUE_TYPE,
  type BrokerKind,
  type ConnectionInput,
} from "../model/connection.ts";
import { holdOf } from "../model/hold-rules.ts";
import type { AmqpTopology } from "./amqp/topology.ts";
import { checkByManagement, type AskManagement } from "./amqp/management.ts";
import type { BrokerConnection, Findings } from "./broker.ts";
import { BrokerFault } from "./broker-fault.ts";
import { describeUnknown, type Connections } from "./connections.ts";

/** What a configuration needs to exist at its brokers. */
export type Needed =
  | { kind: "amqp"; connection: string; topology: AmqpTopology; longestHoldS?: number | undefined }
  | { kind: "azure-service-bus"; connection: string; queue: string; sessions: boolean }
  | { kind: "azure-storage-queue"; connection: string; queue: string };

/** A source that takes from a queue, or a destination that sends to a queue or an exchange. */
export interface BrokerUse {
  kind: string;
  settings: Readonly<Record<string, unknown>>;
  isOrdered?: boolean;
}

interface Used {
  connection: string;
  queue: string | undefined;
  exchange: string | undefined;
  namespace: string | undefined;
  sessions: boolean | undefined;
  /** How long a source holds its messages until they are delivered; undefined when it does not. */
  holdS: number | undefined;
}

const DEAD_LETTERS = /\/\$DeadLetterQueue$/i;
const NOTIFICATIONS = ["email", "sms"] as const;
const OWN_EXCHANGES = ["events", "webhooks", "dlx", "delayed"];
const OWN_QUEUES = ["webhook.delivery", "webhook.failed", ...NOTIFICATIONS.map((name) => `notification.${name}`)];

/** The topology of every configured RabbitMQ, and the queues of other brokers that are in use. */
export function listNeeded(connections: readonly ConnectionInput[], uses: readonly BrokerUse[]): Needed[] {
  const usedOf = (kind: BrokerKind) => uses.filter((one) => one.kind === kind).map(readUse);
  const amqp = usedOf("amqp");
  return [
    ...connections
      .filter(({ kind }) => kind === "amqp")
      .map((input): Needed => {
        const used = amqp.filter(({ connection }) => connection === input.name);
        const holds = used.flatMap(({ holdS }) => holdS ?? []);
        const longestHoldS = holds.length === 0 ? undefined : Math.max(...holds);
        return { kind: "amqp", connection: input.name, topology: toTopology(input, used), longestHoldS };
      }),
    ...findUnknown(connections, amqp),
    ...byQueue(usedOf("azure-service-bus")).map((used): Needed => {
      const sessions = used.map((one) => one.sessions).find((one) => one !== undefined) ?? false;
      return { kind: "azure-service-bus", ...placeOf(used), sessions };
    }),
    ...byQueue(usedOf("azure-storage-queue")).map((used): Needed => ({
      kind: "azure-storage-queue",
      ...placeOf(used),
    })),
  ];
}

function readUse({ settings, isOrdered }: BrokerUse): Used {
  const text = (field: string) => (typeof settings[field] === "string" ? settings[field] : undefined);
  const { sessions } = settings;
  return {
    connection: text("connection") ?? DEFAULT_CONNECTION,
    queue: text("queue")?.replace(DEAD_LETTERS, ""),
    exchange: text("exchange"),
    namespace: text("namespace"),
    // A destination leaves the choice to the source that takes from the queue, unless it needs order.
    sessions: typeof sessions === "boolean" ? sessions : isOrdered === true ? true : undefined,
    holdS: settings["acknowledge"] === "delivered" ? holdOf(settings) : undefined,
  };
}

function toTopology({ topology = {} }: ConnectionInput, used: readonly Used[]): AmqpTopology {
  const named = used.find((one) => one.namespace !== undefined)?.namespace;
  const {
    namespace = named ?? DEFAULT_NAMESPACE,
    queue_type: queueType = DEFAULT_QUEUE_TYPE,
    notifications = [],
  } = topology;
  const queues = unique(used.map(({ queue }) => queue));
  const exchanges = unique(used.map(({ exchange }) => exchange));
  const own = OWN_EXCHANGES.map((name) => `${namespace}.${name}`);
  return {
    namespace,
    queueType,
    notifications: NOTIFICATIONS.filter(
      (name) => notifications.includes(name) || queues.includes(`notification.${name}`),
    ),
    queues: queues.filter((name) => !OWN_QUEUES.includes(name)),
    foreignExchanges: exchanges.filter((name) => name !== "" && !own.includes(name)),
  };
}

/** Listed as wanted, so that the missing connection is reported. */
function findUnknown(connections: readonly ConnectionInput[], used: readonly Used[]): Needed[] {
  const isKnown = (name: string) => connections.some((one) => one.kind === "amqp" && one.name === name);
  return unique(used.map(({ connection }) => connection))
    .filter((name) => !isKnown(name))
    .map((name) => ({ kind: "amqp", connection: name, topology: toTopology({ name, kind: "amqp" }, []) }));
}

function byQueue(used: readonly Used[]): Used[][] {
  const groups = new Map<string, Used[]>();
  for (const one of used) {
    const key = `${one.connection} ${one.queue}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

function placeOf([first]: readonly Used[]): { connection: string; queue: string } {
  return { connection: first?.connection ?? "", queue: first?.queue ?? "" };
}

function unique(names: readonly (string | undefined)[]): string[] {
  return [...new Set(names)].filter((name) => name !== undefined);
}

/** How a broker differs from what is wanted, or the result of creating what is missing. */
export interface Provision extends Findings {
  kind: Needed["kind"];
  connection: string;
  /** A description for people. */
  what: string;
  /** Why nothing could be done. */
  error: string | undefined;
}

interface ProvisionOptions {
  connections: Connections;
  inputs: readonly ConnectionInput[];
  ask: AskManagement;
}

function describeTimeout(longestHoldS: number | undefined): string {
  const held = longestHoldS === undefined ? "until they are stored" : `for up to ${longestHoldS} s (hold_max_s)`;
  return (
    `consumer timeout: it cannot be read over the network; messages are held ${held}, so it must be longer than that ` +
    "(30 minutes by default; consumer_timeout in rabbitmq.conf)"
  );
}

/** Creates missing parts. Parts that exist with other settings are reported and left unchanged. */
export function declareNeeded(needed: Needed, options: ProvisionOptions): Promise<Provision> {
  return report(needed, async () => {
    try {
      await connectionOf(needed, options.connections).declare(neededFor(needed));
    } catch (error) {
      throw error instanceof BrokerFault && error.kind === "not_allowed" ? withAdvice(error) : error;
    }
    return { differences: [], unchecked: [] };
  });
}

/** The gateway itself creates nothing: the right is needed only once. */
function withAdvice({ kind, message }: BrokerFault): BrokerFault {
  return new BrokerFault(
    kind,
    `${message} Or run \`posthorn queue declare\` once with other credentials: the gateway itself needs no right to create.`,
  );
}

/** Compares without changing anything. */
export function checkNeeded(needed: Needed, options: ProvisionOptions): Promise<Provision> {
  return report(needed, () => check(needed, options));
}

async function report(needed: Needed, act: () => Promise<Findings>): Promise<Provision> {
  const { kind, connection } = needed;
  const facts = { kind, connection, what: describe(needed) };
  try {
    return { ...facts, ...(await act()), error: undefined };
  } catch (error) {
    if (!(error instanceof BrokerFault)) throw error;
    return { ...facts, differences: [], unchecked: [], error: error.message };
  }
}

async function check(needed: Needed, { connections, inputs, ask }: ProvisionOptions): Promise<Findings> {
  const found = await connectionOf(needed, connections).check(neededFor(needed));
  if (needed.kind !== "amqp") return found;
  const input = inputs.find(({ kind, name }) => kind === "amqp" && name === needed.connection);
  const managed = await checkByManagement(input ?? { kind: "amqp", name: "" }, needed.topology, found.differences, ask);
  return {
    differences: [...found.differences, ...managed.differences],
    unchecked: [...found.unchecked, ...managed.unchecked, describeTimeout(needed.longestHoldS)],
  };
}

/** What the connection of this kind takes. */
function neededFor(needed: Needed): unknown {
  if (needed.kind === "amqp") return needed.topology;
  return needed.kind === "azure-service-bus" ? needed : needed.queue;
}

function connectionOf({ kind, connection }: Needed, connections: Connections): BrokerConnection<unknown> {
  const found = connections.find(kind, connection);
  if (found === undefined) throw new BrokerFault("not_found", describeUnknown(kind, connection));
  return found;
}

function describe(needed: Needed): string {
  if (needed.kind !== "amqp") return `queue ${needed.queue}`;
  const { namespace, queueType, notifications, queues = [] } = needed.topology;
  const named = [...notifications.map((name) => `notification.${name}`), ...queues];
  return `exchanges ${namespace}.*, ${queueType} queues ${["webhook.delivery", "webhook.failed", ...named].join(", ")}`;
}
