import { BrokerFault } from "./broker-fault.ts";

/** Packages that only some users install, and the versions that this gateway was tried with. */
const VERSIONS = {
  "@azure/service-bus": "7.9.5",
  "@azure/storage-queue": "12.30.0",
  "@azure/storage-blob": "12.30.0",
  "@azure/identity": "4.13.1",
} as const;

type OptionalPackage = keyof typeof VERSIONS;

/** `load` is `() => import(name)`, written where it is needed, so that its types are known there. */
export async function loadOptional<Module>(name: OptionalPackage, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch {
    throw new BrokerFault(
      "missing_package",
      `The package "${name}" is not installed. Run \`npm install ${name}@${VERSIONS[name]}\` beside Posthorn.`,
    );
  }
}
