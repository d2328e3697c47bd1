import {
  DEFAULT_CONNECTION,
  findAddressProblem,
  withoutAddress,
  type BrokerKind,
  type ConnectionInput,
} from "../model/connection.ts";
import type { Config } from "./settings-tree.ts";

/** Connections to brokers: the declared ones, and the `default` of each kind that comes from a setting. */

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

/** All connections. A setting overrides the declared address, as the environment overrides the file. */
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
