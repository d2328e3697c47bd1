import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { usageFailure } from "./failure.ts";
import { print } from "./output.ts";
import { readDocument, readObject } from "./read-document.ts";

/** Making and changing single event types; many at once come by `import`. */
export interface EventTypeFlags extends ClientFlags {
  file?: string;
  description?: string;
  producer?: string;
  consumer?: string[];
  deprecated?: boolean;
  replacedBy?: string;
  enforce?: boolean;
}

export interface VersionFlags extends ClientFlags {
  schema: string;
  example?: string;
}

const PATH = "/api/v1/event-types";
const JSON_BODY = { "content-type": "application/json" };
const pathOf = (name: string) => `${PATH}/${encodeURIComponent(name)}`;
const versionPath = (name: string, version: string) => `${pathOf(name)}/versions/${encodeURIComponent(version)}`;

export async function runCreateEventType(name: string, flags: EventTypeFlags): Promise<void> {
  const body = JSON.stringify({ ...readInput(flags), name });
  const client = await connect(flags);
  tell(client, await client.post(PATH, body, JSON_BODY), flags);
}

export async function runUpdateEventType(name: string, flags: EventTypeFlags): Promise<void> {
  const body = JSON.stringify(readInput(flags));
  const client = await connect(flags);
  tell(client, await client.patch(pathOf(name), body, JSON_BODY), flags);
}

export async function runDeleteEventType(name: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  await client.remove(pathOf(name));
  print(flags.json === true ? JSON.stringify({ name, deleted: true }) : `${name}: deleted`);
}

export async function runPutVersion(name: string, version: string, flags: VersionFlags): Promise<void> {
  if (flags.schema === "-" && flags.example === "-") throw usageFailure("Standard input can be read once only.");
  const example = flags.example === undefined ? {} : { example: readDocument(flags.example) };
  const body = JSON.stringify({ schema: readObject(flags.schema), ...example });
  const client = await connect(flags);
  tell(client, await client.put(versionPath(name, version), body, JSON_BODY), flags);
}

export async function runDeleteVersion(name: string, version: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  tell(client, await client.remove(versionPath(name, version)), flags);
}

function readInput(flags: EventTypeFlags): Record<string, unknown> {
  const status = flags.deprecated === true ? "deprecated" : "active";
  const given = {
    description: flags.description,
    producer: flags.producer,
    consumers: flags.consumer,
    status: flags.deprecated === undefined ? undefined : status,
    replaced_by: flags.replacedBy,
    enforce: flags.enforce,
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...(flags.file === undefined ? {} : readObject(flags.file)), ...Object.fromEntries(set) };
}

function tell(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const type = readAnswer(client, answer) as { name: string; status: string; versions: { version: string }[] };
  const versions = type.versions.map(({ version }) => version).join(", ");
  print(`${type.name}: ${type.status}, ${versions === "" ? "no schema" : `versions ${versions}`}`);
}
