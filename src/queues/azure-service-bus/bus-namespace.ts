import type { ServiceBusAdministrationClient, ServiceBusClient } from "@azure/service-bus";
import { BrokerFault, firstLine, loadOptional } from "../broker-fault.ts";

/** The address of an Azure Service Bus namespace, and the credentials for it. */
export type BusNamespace =
  | { connectionString: string }
  /** `NAME.servicebus.windows.net`; `DefaultAzureCredential` finds the identity. */
  | { namespace: string };

export interface OpenNamespace {
  client: ServiceBusClient;
  administration: ServiceBusAdministrationClient;
}

/** Retries inside the package, within one call: longer waits are the store's task. */
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

/** The package manages queues over https only; Microsoft's emulator only offers http, on a separate port. */
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

/** For people: does not contain a key. */
export function describeNamespace(where: BusNamespace): string {
  if ("namespace" in where) return where.namespace;
  return /(?:^|;)\s*Endpoint\s*=\s*sb:\/\/([^/;]*)/i.exec(where.connectionString)?.[1] ?? "an unnamed namespace";
}
