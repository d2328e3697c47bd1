import { BrokerFault, firstLine } from "./broker-fault.ts";

/** Packages that only some users install, with the versions that this gateway was tested with. */
const VERSIONS = {
  "@azure/service-bus": "7.9.5",
  "@azure/storage-queue": "12.30.0",
  "@azure/storage-blob": "12.30.0",
  "@azure/identity": "4.13.1",
} as const;

type OptionalPackage = keyof typeof VERSIONS;

/** `load` is `() => import(name)`, written by the caller so that its types are known there. */
export async function loadOptional<Module>(name: OptionalPackage, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch {
    const advice = `Run \`npm install ${name}@${VERSIONS[name]}\` beside Posthorn.`;
    throw new BrokerFault("missing_package", `The package "${name}" is not installed. ${advice}`);
  }
}

/** `DefaultAzureCredential` found no identity, or one that is rejected. `place`: the service that needs it. */
export function findIdentityFault(error: unknown, place: string): BrokerFault | undefined {
  if (!(error instanceof Error) || !/(?:Credential\w*|Authentication)Error$/.test(error.name)) return undefined;
  const advice =
    "Set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, run Posthorn where there is a managed identity, or " +
    "give a connection_string.";
  return new BrokerFault("wrong_credentials", `No identity was found for ${place}. ${advice}`);
}

export async function openIdentity() {
  const { DefaultAzureCredential } = await loadOptional("@azure/identity", () => import("@azure/identity"));
  return new DefaultAzureCredential();
}

/** `service`: what the connection string is for. */
export function openByString<Client>(service: string, open: () => Client): Client {
  try {
    return open();
  } catch (error) {
    // A package may repeat parts of the connection string in its message: only its first words are safe to show.
    const why = firstLine(error).split(/[:;]/)[0];
    throw new BrokerFault("wrong_credentials", `The connection string of ${service} cannot be used: ${why}.`);
  }
}
