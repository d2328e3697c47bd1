import { loadConfig } from "../../config/load.ts";
import type { Sample } from "../../sources/sample.ts";
import { readAnswer, type ApiClient } from "../api-client.ts";
import { CommandFailure, usageFailure } from "../failure.ts";
import { note } from "../output.ts";
import { asText, type Row } from "../resources/fields.ts";
import { listAll } from "../resources/find-by-name.ts";
import { getSurroundings } from "../surroundings.ts";

/** The source that a sample is sent to, as far as the gateway shows it. */
export interface SampleSource {
  name: string;
  /** With its token, if it has one. */
  path: string;
  options: Row;
  /** The last characters of its secrets. */
  hints: readonly string[];
}

/** Finds the named source, or the only one of the kind. */
export async function findSource(
  client: ApiClient,
  { kind }: Sample,
  given: string | undefined,
): Promise<SampleSource> {
  const source = given === undefined ? await findOnly(client, kind) : await getNamed(client, kind, given);
  const { name, options, secrets, path_token: token } = source;
  return {
    name: asText(name) ?? "",
    path: typeof token === "string" ? await readPath(client, asText(name) ?? "") : `/webhook/${asText(name)}`,
    options: (options ?? {}) as Row,
    hints: ((secrets ?? []) as Row[]).map(({ hint }) => asText(hint) ?? ""),
  };
}

async function findOnly(client: ApiClient, kind: string): Promise<Row> {
  const all = await listAll(client, "/api/v1/sources", { kind });
  const [only, ...others] = all;
  if (only === undefined) {
    throw new CommandFailure(
      `The gateway has no source of the kind ${kind}. Create one with \`posthorn sources create NAME --kind ${kind}\`, or name a source with --to.`,
    );
  }
  if (others.length === 0) return only;
  const names = all.map(({ name }) => asText(name)).join(", ");
  throw new CommandFailure(`${all.length} sources are of the kind ${kind}: ${names}. Name one with --to.`);
}

async function getNamed(client: ApiClient, kind: string, name: string): Promise<Row> {
  const answer = await client.get(`/api/v1/sources/${encodeURIComponent(name)}`, {}, [404]);
  // The `*` source accepts any name and verifies nothing.
  if (answer.status === 404) return { name, kind: "generic", options: {} };
  const source = readAnswer(client, answer) as Row;
  if (source["kind"] === kind) return source;
  throw usageFailure(`The source ${name} is of the kind ${asText(source["kind"])}, not ${kind}.`);
}

async function readPath(client: ApiClient, name: string): Promise<string> {
  const { path } = readAnswer(
    client,
    await client.get(`/api/v1/sources/${encodeURIComponent(name)}/path-token`),
  ) as Row;
  return asText(path) ?? "";
}

/** A gateway never shows the secrets of a source, so they come from a flag or the configuration in this folder. */
export function findSecret(
  { kind, needsSecret, keyHint }: Sample,
  { name }: SampleSource,
  given: string | undefined,
): string | undefined {
  if (given !== undefined) return given;
  const declared = keyHint === undefined ? findDeclared(name) : undefined;
  if (declared !== undefined || !needsSecret) return declared;
  throw usageFailure(
    keyHint === undefined
      ? `A gateway does not show the secrets of its sources. Give the secret of ${name} (${kind}) with --secret-file FILE.`
      : `${keyHint}.`,
  );
}

function findDeclared(name: string): string | undefined {
  try {
    const { env, cwd } = getSurroundings();
    const { config } = loadConfig({ env, cwd });
    const secret = config.sources.find((source) => source.name === name)?.secrets?.[0];
    if (secret !== undefined) note(`using the secret of ${name} in posthorn.yaml`);
    return secret;
  } catch {
    // An invalid configuration is not this command's concern.
    return undefined;
  }
}
