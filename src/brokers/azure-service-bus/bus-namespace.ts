import type { ServiceBusAdministrationClient, ServiceBusClient } from "@azure/service-bus";
import { BrokerFault, firstLine, loadOptional } from "../broker-fault.ts";

/** Where a namespace of Azure Service Bus is, and who we are there. */
export type BusNamespace =
  | { connectionString: string }
  /** `NAME.servicebus.windows.net`; who we are is found out by `DefaultAzureCredential`. */
  | { namespace: string };

export interface OpenNamespace {
  client: ServiceBusClient;
  administration: ServiceBusAdministrationClient;
}

/** Tries of the package itself, inside one call: what waits for longer waits in the store. */
const RETRY_OPTIONS = { maxRetries: 1, retryDelayInMs: 200, timeoutInMs: 10_000 };
const EMULATOR_PORT = "5300";

export async function openNamespace(where: BusNamespace): Promise<OpenNamespace> {
  const bus = await loadOptional("@azure/service-bus", () => import("@azure/service-bus"));
  const options = { retryOptions: RETRY_OPTIONS };
  if ("namespace" in where) {
    const { DefaultAzureCredential } = await loadOptional("@azure/identity", () => import("@azure/identity"));
    const identity = new DefaultAzureCredential();
    return {
      client: new bus.ServiceBusClient(where.namespace, identity, options),
      administration: new bus.ServiceBusAdministrationClient(where.namespace, identity, options),
    };
  }
  try {
    const client = new bus.ServiceBusClient(where.connectionString, options);
    const administration = new bus.ServiceBusAdministrationClient(where.connectionString, options);
    if (isEmulator(where.connectionString)) useEmulator(administration);
    return { client, administration };
  } catch (error) {
    const why = firstLine(error).split(/[:;]/)[0];
    throw new BrokerFault("wrong_credentials", `The connection string of Azure Service Bus cannot be used: ${why}.`);
  }
}

function isEmulator(connectionString: string): boolean {
  return /(?:^|;)\s*UseDevelopmentEmulator\s*=\s*true/i.test(connectionString);
}

/** The package administers over https only; Microsoft's emulator knows http only, on a port of its own. */
function useEmulator(administration: ServiceBusAdministrationClient): void {
  administration.pipeline.addPolicy({
    name: "emulator",
    sendRequest(request, next) {
      const url = new URL(request.url);
      url.protocol = "http:";
      if (url.port === "") url.port = EMULATOR_PORT;
      request.url = url.href;
      request.allowInsecureConnection = true;
      return next(request);
    },
  });
}

/** For people: without a key. */
export function describeNamespace(where: BusNamespace): string {
  if ("namespace" in where) return where.namespace;
  return /(?:^|;)\s*Endpoint\s*=\s*sb:\/\/([^/;]*)/i.exec(where.connectionString)?.[1] ?? "an unnamed namespace";
}
