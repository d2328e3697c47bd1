import type { ConnectionInput } from "../../model/connection.ts";
import { checkByManagement, type AskManagement } from "../amqp/management.ts";
import { BrokerFault } from "../broker-fault.ts";
import type { Connections } from "../connections.ts";
import type { Wish } from "./wishes.ts";

/** How a broker differs from what is wanted, or the result of creating what is missing. */
export interface Provision {
  kind: Wish["kind"];
  connection: string;
  /** A description for people. */
  what: string;
  /** What is missing or different. */
  differences: string[];
  /** What could not be checked, and why. */
  unchecked: string[];
  /** Why nothing could be done. */
  error: string | undefined;
}

export interface ProvisionOptions {
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
export function declareWish(wish: Wish, options: ProvisionOptions): Promise<Provision> {
  return report(wish, async () => {
    try {
      await declare(wish, options.connections);
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
export function checkWish(wish: Wish, options: ProvisionOptions): Promise<Provision> {
  return report(wish, () => check(wish, options));
}

type Found = Pick<Provision, "differences" | "unchecked">;

async function report(wish: Wish, act: () => Promise<Found>): Promise<Provision> {
  const { kind, connection } = wish;
  const facts = { kind, connection, what: describe(wish) };
  try {
    return { ...facts, ...(await act()), error: undefined };
  } catch (error) {
    if (!(error instanceof BrokerFault)) throw error;
    return { ...facts, differences: [], unchecked: [], error: error.message };
  }
}

async function declare(wish: Wish, connections: Connections): Promise<void> {
  switch (wish.kind) {
    case "amqp":
      return known(connections.find("amqp", wish.connection), wish).declare(wish.topology);
    case "azure-service-bus":
      return known(connections.find("azure-service-bus", wish.connection), wish).declare(wish);
    case "azure-storage-queue":
      return known(connections.find("azure-storage-queue", wish.connection), wish).declare(wish.queue);
  }
}

async function check(wish: Wish, { connections, inputs, ask }: ProvisionOptions): Promise<Found> {
  switch (wish.kind) {
    case "amqp": {
      const found = await known(connections.find("amqp", wish.connection), wish).check(wish.topology);
      const input = inputs.find(({ kind, name }) => kind === "amqp" && name === wish.connection);
      const asked = input ?? { kind: "amqp", name: "" };
      const managed = await checkByManagement(asked, wish.topology, found.differences, ask);
      return {
        differences: [...found.differences, ...managed.differences],
        unchecked: [...found.unchecked, ...managed.unchecked, describeTimeout(wish.longestHoldS)],
      };
    }
    case "azure-service-bus": {
      const differences = await known(connections.find("azure-service-bus", wish.connection), wish).check(wish);
      return { differences, unchecked: [] };
    }
    case "azure-storage-queue": {
      const differences = await known(connections.find("azure-storage-queue", wish.connection), wish).check(wish.queue);
      return { differences, unchecked: [] };
    }
  }
}

function known<Connection>(connection: Connection | undefined, { kind, connection: name }: Wish): Connection {
  if (connection !== undefined) return connection;
  throw new BrokerFault(
    "not_found",
    `There is no connection "${name}" of the kind ${kind}; add it under \`connections\`.`,
  );
}

function describe(wish: Wish): string {
  if (wish.kind !== "amqp") return `queue ${wish.queue}`;
  const { namespace, queueType, notifications, queues = [] } = wish.topology;
  const named = [...notifications.map((name) => `notification.${name}`), ...queues];
  return `exchanges ${namespace}.*, ${queueType} queues ${["webhook.delivery", "webhook.failed", ...named].join(", ")}`;
}
