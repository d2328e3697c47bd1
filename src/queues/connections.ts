import type { Clock, Random } from "../model/clock.ts";
import type { BrokerKind, ConnectionInput } from "../model/connection.ts";
import { createAmqpConnection } from "./amqp/amqp-connection.ts";
import { createBusConnection } from "./azure-service-bus/bus-connection.ts";
import type { StorageAccount } from "./azure-storage-queue/storage-account.ts";
import { createStorageConnection } from "./azure-storage-queue/storage-connection.ts";
import type { BrokerConnection, ConnectionState } from "./broker.ts";

/** The connections of this process: one for each configured name, shared by all sources and senders that use it. */
export interface Connections {
  find(kind: BrokerKind, name: string): BrokerConnection<unknown> | undefined;
  /** The account where bodies that are too large for its queues are stored. */
  findAccount(name: string): StorageAccount | undefined;
  /** The prefix of the exchanges' names in RabbitMQ, if it is configured. */
  findNamespace(name: string): string | undefined;
  list(): NamedConnection[];
  close(): Promise<void>;
}

export function describeUnknown(kind: BrokerKind, name: string): string {
  return `There is no connection "${name}" of the kind ${kind}; add it under \`connections\`.`;
}

export interface NamedConnection {
  kind: BrokerKind;
  name: string;
  state: ConnectionState;
}

export interface ConnectionsOptions {
  connections: readonly ConnectionInput[];
  /** The name of this gateway in the broker's list of connections. */
  label: string;
  clock: Clock;
  random: Pick<Random, "next">;
  /** Called whenever the state of a connection changes. */
  onState?: ((connection: NamedConnection) => void) | undefined;
}

export function createConnections({ connections, label, clock, random, onState }: ConnectionsOptions): Connections {
  const all = connections.map((input) => ({ input, connection: create(input) }));

  function create(input: ConnectionInput): BrokerConnection<unknown> {
    const { kind, name } = input;
    const common = { clock, random, onState: (state: ConnectionState) => onState?.({ kind, name, state }) };
    switch (input.kind) {
      case "amqp":
        return createAmqpConnection({ ...common, url: input.url ?? "", label });
      case "azure-service-bus": {
        const { namespace, connection_string: connectionString = "" } = input;
        const where = namespace === undefined ? { connectionString } : { namespace };
        return createBusConnection({ ...common, namespace: where });
      }
      case "azure-storage-queue":
        return createStorageConnection({ ...common, account: toAccount(input) });
    }
  }

  function find(kind: BrokerKind, name: string) {
    return all.find(({ input }) => input.kind === kind && input.name === name);
  }

  return {
    find: (kind, name) => find(kind, name)?.connection,
    findAccount(name) {
      const found = find("azure-storage-queue", name);
      return found && toAccount(found.input);
    },
    findNamespace: (name) => find("amqp", name)?.input.topology?.namespace,
    list: () => all.map(({ input: { kind, name }, connection }) => ({ kind, name, state: connection.state() })),
    async close() {
      await Promise.all(all.map(({ connection }) => connection.close()));
    },
  };
}

/** An unreachable broker is retried again and again; only a new error is logged. */
export function logStates(
  logger: Record<"info" | "warn", (facts: object, message: string) => void>,
): (connection: NamedConnection) => void {
  const logged = new Map<string, string>();
  return ({ kind, name, state }) => {
    const key = `${kind} ${name}`;
    if (state.state === "failed" && logged.get(key) !== state.fault.message) {
      logged.set(key, state.fault.message);
      logger.warn({ kind, connection: name, reason: state.fault.message }, "a broker is away, trying again");
    }
    if (state.state === "connected" && logged.delete(key)) {
      logger.info({ kind, connection: name }, "the broker is there again");
    }
  };
}

/** For gateways that use no brokers. */
export const NO_CONNECTIONS: Connections = {
  find: () => undefined,
  findAccount: () => undefined,
  findNamespace: () => undefined,
  list: () => [],
  close: async () => undefined,
};

function toAccount({
  account_url: accountUrl,
  connection_string: connectionString = "",
}: ConnectionInput): StorageAccount {
  return accountUrl === undefined ? { connectionString } : { accountUrl };
}
