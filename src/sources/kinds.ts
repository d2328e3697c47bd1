import type { Connections } from "../queues/connections.ts";
import { AMQP, AZURE_SERVICE_BUS, AZURE_STORAGE_QUEUE, createBrokerKind } from "./queue-kinds.ts";
import { GENERIC } from "./generic.ts";
import * as providers from "./provider-list.ts";
import type { PushedSourceKind, SourceKind } from "./source-kind.ts";

/** What kinds may use of the gateway. */
export interface SourceKindServices {
  /** The text at an https URL, by GET through the guarded client; rejects unless the answer is a 200 of modest size. */
  fetchText(url: string): Promise<string>;
  /** Connections to brokers, for kinds that read queues. */
  connections: Connections;
}

/** All kinds of sources, including those of plugins. */
export function createSourceKinds(
  services: SourceKindServices,
  more: readonly SourceKind[] = [],
): ReadonlyMap<string, SourceKind> {
  const queues = [AMQP, AZURE_SERVICE_BUS, AZURE_STORAGE_QUEUE].map((spec) =>
    createBrokerKind(spec, services.connections),
  );
  const kinds: SourceKind[] = [GENERIC, ...createProviderKinds(services), ...queues, ...more];
  return new Map(kinds.map((kind) => [kind.name, kind]));
}

/** The kinds of providers. */
export function createProviderKinds(services: Pick<SourceKindServices, "fetchText">): readonly PushedSourceKind[] {
  return Object.values(providers).map((kind) => (typeof kind === "function" ? kind(services) : kind));
}
