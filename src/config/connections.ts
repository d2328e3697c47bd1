import { Value } from "typebox/value";
import {
  checkConnectionInput,
  ConnectionInput,
  DEFAULT_CONNECTION,
  findAddressProblem,
  withoutAddress,
  type BrokerKind,
} from "../domain/connection.ts";
import type { Config } from "./settings-tree.ts";

/** Connections to brokers: those that are declared, and the `default` of each kind that a setting gives. */

const DEFAULTS = [
  { kind: "amqp", setting: "amqp_url", name: "amqpUrl", field: "url" },
  {
    kind: "azure-service-bus",
    setting: "servicebus_connection_string",
    name: "servicebusConnectionString",
    field: "connection_string",
  },
  {
    kind: "azure-storage-queue",
    setting: "storage_connection_string",
    name: "storageConnectionString",
    field: "connection_string",
  },
] as const satisfies readonly { kind: BrokerKind; setting: string; name: keyof Config; field: string }[];

/** Items that do not fit their schema have been reported already and are passed over here. */
export function checkDeclaredConnections(
  items: readonly unknown[],
  complain: (index: number, field: string, message: string) => void,
): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(ConnectionInput, item)) continue;
    const key = `${item.kind} ${item.name}`;
    const first = seen.get(key);
    if (first !== undefined) {
      complain(index, "name", `connections[${first}] has the same name; names are unique per kind`);
    }
    seen.set(key, first ?? index);
    for (const { field, message } of checkConnectionInput(item)) complain(index, field, message);
  }
}

export function checkDefaultConnections(
  tree: Readonly<Record<string, unknown>>,
  complain: (path: string, message: string) => void,
): void {
  for (const { kind, setting, field } of DEFAULTS) {
    const value = tree[setting];
    const problem = typeof value === "string" ? findAddressProblem(kind, field, value) : undefined;
    if (problem !== undefined) complain(setting, problem);
  }
}

/** All of them. A setting comes before the address that is declared, as the environment comes before the file. */
export function listConnections(config: Config): ConnectionInput[] {
  const given = DEFAULTS.flatMap(({ kind, name, field }): ConnectionInput[] => {
    const value = config[name];
    if (value === undefined) return [];
    const declared = config.connections.find((one) => one.kind === kind && one.name === DEFAULT_CONNECTION);
    return [{ ...(declared && withoutAddress(declared)), name: DEFAULT_CONNECTION, kind, [field]: value }];
  });
  const isGiven = ({ kind, name }: ConnectionInput) => given.some((one) => one.kind === kind && one.name === name);
  return [...given, ...config.connections.filter((one) => !isGiven(one))];
}
