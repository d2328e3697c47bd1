import type { Connections } from "../../brokers/connections.ts";
import type { Clock } from "../../domain/clock.ts";
import type { SmartsheetContext } from "../../plugins/smartsheet/webhook.ts";
import { AMQP } from "./amqp.ts";
import { AZURE_SERVICE_BUS } from "./azure-service-bus.ts";
import { AZURE_STORAGE_QUEUE } from "./azure-storage-queue.ts";
import { createBrokerKind } from "./broker-kind.ts";
import { GENERIC } from "./generic.ts";
import { createProviderKinds } from "./providers.ts";
import { createSmartsheetKind } from "../../plugins/smartsheet/source-kind.ts";
import type { SourceKind } from "./source-kind.ts";

/** What kinds may ask of the gateway. */
export interface SourceKindServices {
  clock: Clock;
  /** The body of a document behind an https address, through the guarded client; rejects with `unavailable`. */
  fetchText: (url: string) => Promise<string>;
  smartsheet: SmartsheetContext;
  connections: Connections;
}

/** Every kind of source, one line each. */
const FACTORIES: readonly ((services: SourceKindServices) => readonly SourceKind[])[] = [
  () => [GENERIC],
  createProviderKinds,
  ({ smartsheet }) => [createSmartsheetKind(smartsheet)],
  ({ connections }) =>
    [AMQP, AZURE_SERVICE_BUS, AZURE_STORAGE_QUEUE].map((spec) => createBrokerKind(spec, connections)),
];

export function createSourceKinds(
  services: SourceKindServices,
  more: readonly SourceKind[] = [],
): ReadonlyMap<string, SourceKind> {
  const kinds = FACTORIES.flatMap((create) => create(services));
  return new Map([...kinds, ...more].map((kind) => [kind.name, kind]));
}
