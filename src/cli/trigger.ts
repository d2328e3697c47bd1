import { randomUUID } from "node:crypto";
import type { Source, SourcesGetPathTokenAnswer } from "../../sdk/src/generated/shapes.ts";
import { loadConfig } from "../config/load.ts";
import { suggestName } from "../model/nearest-name.ts";
import { PLUGINS } from "../plugins.ts";
import { fillSample, type Sample, SAMPLES, type Signed } from "../sources/sample.ts";
import { type ApiAnswer, type ApiClient, createApiClient } from "./api-client.ts";
import { type ClientFlags, connect } from "./connect.ts";
import { CommandFailure, EXIT_FAILED, usageFailure } from "./failure.ts";
import { countOf, note, openProgress, print, printFacts, printJson } from "./output.ts";
import { HEADER, isJson, readBytes, readCount, readPairs, readPayload, readSecret } from "./read-value.ts";
import { ownFlag } from "./resources/flags.ts";
import { type Call, listAll, type SingleAction } from "./resources/resource.ts";
import { getSurroundings } from "./surroundings.ts";

interface TriggerFlags extends ClientFlags {
  to?: string;
  secret?: string;
  secretFile?: string;
  data?: string;
  count: string;
  header?: string[];
  publicUrl?: string;
}

const MAX_COUNT = 1_000_000;
const MAX_SHOWN = 20;

export const ACTION: SingleAction = {
  takes: "[provider] [event]",
  flags: [
    ownFlag("--to <source>", "the source (default: the only one of that kind)"),
    ownFlag(
      "--secret-file <path>",
      "a file with the secret of the source (default: from posthorn.yaml in this folder)",
    ),
    ownFlag("--secret <secret>", "the secret itself, which others on this machine can see; or @FILE"),
    ownFlag(
      "--data <json>",
      "a body of your own, as JSON, @FILE, or - for standard input; it is signed like the sample",
    ),
    ownFlag("-H, --header <name: value...>", "a further header; may be given several times"),
    ownFlag("-n, --count <number>", "send this many requests, each with its own id", { default: "1" }),
    ownFlag("--public-url <url>", "the gateway's public URL, for providers that sign the URL"),
  ],
  run: trigger,
  notes: `Without a provider, lists all providers with their events; without an event, the events of the provider.
A gateway never shows the secrets of a source, so they must be given.

Examples:
  posthorn trigger
  posthorn trigger github push --secret "It's a Secret to Everybody"
  posthorn trigger stripe invoice.paid --to shop-payments --secret-file stripe-secret.txt --count 10`,
};

async function trigger({ args: [provider, event], flags }: Call<TriggerFlags>): Promise<void> {
  const samples = await loadSamples();
  if (provider === undefined) return listSamples(samples, flags.json === true);
  const sample = getSample(samples, provider);
  if (sample.unsignable !== undefined) {
    throw new CommandFailure(`Requests of ${provider} cannot be created here. ${sample.unsignable}`);
  }
  if (event === undefined) return listSamples([sample], flags.json === true);
  const count = readCount(flags.count, "--count", { min: 1, max: MAX_COUNT });
  const sampleEvent = getEvent(sample, event);
  const data = flags.data === undefined ? undefined : readData(flags.data);
  const more = readPairs(flags.header ?? [], "--header", HEADER);
  const client = await connect(flags);
  const source = await findSource(client, sample, flags.to);
  const secret = findSecret(sample, source, readGivenSecret(flags));
  // Without a key, like a provider: webhooks must not carry the gateway's API key.
  const sender = createApiClient(client.url, undefined);
  const origin = flags.publicUrl ?? getSurroundings().env["POSTHORN_PUBLIC_URL"] ?? client.url;
  const { options } = source;
  const url = typeof options["url"] === "string" ? options["url"] : origin.replace(/\/+$/, "") + source.path;
  const progress = openProgress(count);
  const outcomes: Outcome[] = [];
  try {
    for (let sent = 0; sent < count; sent++) {
      const { headers, body, query } = build(sample, { event: sampleEvent, options, url, secret, data });
      const answer = await sender.send("POST", `${source.path}${query === "" ? "" : `?${query}`}`, {
        body: new Uint8Array(body),
        headers: { ...headers, ...more },
        expected: [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 503],
      });
      outcomes.push(readOutcome(answer));
      progress.show(outcomes.length);
      if (answer.status >= 400) break;
    }
  } finally {
    progress.close();
  }
  printOutcomes(outcomes, { sample, source, isJson: flags.json === true });
}

function readGivenSecret({ secret, secretFile }: TriggerFlags): string | undefined {
  if (secretFile === undefined) return secret?.startsWith("@") === true ? readSecret(secret.slice(1)) : secret;
  if (secret === undefined) return readSecret(secretFile);
  throw usageFailure("--secret and --secret-file exclude each other; choose one.");
}

/** What is not JSON is the name of a file, also without the `@`. */
function readData(text: string): Buffer {
  return /^[-@]/.test(text) || isJson(text) ? readPayload(text) : readBytes(text);
}

function getEvent(sample: Sample, event: string): Sample["events"][string] {
  const found = Object.hasOwn(sample.events, event) ? sample.events[event] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(sample.events);
  const hint = suggestName(event, names) || ".";
  throw usageFailure(`${sample.kind} has no event "${event}" here${hint} Choose from ${names.join(", ")}.`);
}

interface Parts {
  event: Sample["events"][string];
  options: Source["options"];
  url: string;
  secret: string | undefined;
  data: Buffer | undefined;
}

function build(sample: Sample, { event, options, url, secret, data }: Parts) {
  const facts = { at: Date.now(), id: randomUUID() };
  const { headers, body: filled } = fillSample(event, facts.at, facts.id);
  const body = data ?? filled;
  const signed: Signed =
    secret === undefined ? {} : (sample.sign?.({ ...facts, url, headers, body }, { secret, options }) ?? {});
  return { headers: { ...headers, ...signed.headers }, body: signed.body ?? body, query: signed.query ?? "" };
}

interface Outcome {
  status: number;
  /** The gateway's answer, when it is JSON. */
  said: { status?: string; event_id?: string; deliveries?: number; detail?: string; code?: string };
}

/** Some providers get an answer in their own format. */
function readOutcome({ status, text }: ApiAnswer): Outcome {
  try {
    const said = JSON.parse(text) as unknown;
    return { status, said: typeof said === "object" && said !== null ? said : {} };
  } catch {
    return { status, said: {} };
  }
}

function printOutcomes(
  outcomes: readonly Outcome[],
  { sample, source, isJson }: { sample: Sample; source: SampleSource; isJson: boolean },
): void {
  const rejected = outcomes.find(({ status }) => status >= 400);
  const accepted = outcomes.filter(({ status }) => status < 400);
  if (isJson) printJson({ source: source.name, accepted: accepted.length, answers: outcomes });
  else if (outcomes.length <= MAX_SHOWN) for (const outcome of accepted) print(describe(outcome));
  if (!isJson && outcomes.length > 1) note(`${countOf(accepted.length, "request")} accepted by ${source.name}`);
  if (rejected !== undefined) throw new CommandFailure(explain(rejected, sample, source), EXIT_FAILED);
}

function describe({ status, said }: Outcome): string {
  if (said.event_id === undefined) return `accepted (${status})`;
  if (said.status === "duplicate") return `${said.event_id}  duplicate: the gateway already had it`;
  if (said.deliveries === 0) return `${said.event_id}  stored; no subscription matches, so it is not delivered`;
  if (said.deliveries === undefined) return `${said.event_id}  ${said.status ?? "accepted"}`;
  return `${said.event_id}  ${countOf(said.deliveries, "delivery", "deliveries")}`;
}

const SIGNS_URL = new Set(["hubspot", "square", "twilio"]);

function explain({ status, said }: Outcome, { kind }: Sample, { name, secrets }: SampleSource): string {
  const what = `The source ${name} answered ${status}: ${said.detail ?? "no reason given"} (${said.code ?? "no code"})`;
  if (said.code !== "bad_signature") return what;
  const hint = secrets.length === 0 ? "" : ` Its secrets end in ${secrets.map(({ hint: end }) => end).join(", ")}.`;
  const url = SIGNS_URL.has(kind) ? " This provider signs the URL too: give the gateway's own with --public-url." : "";
  return `${what}${hint}${url} Check the secret.`;
}

/** The source that a sample is sent to. `path`: with its token, if it has one. */
type SampleSource = Pick<Source, "name" | "options" | "secrets"> & { path: string };

async function findSource(client: ApiClient, { kind }: Sample, given: string | undefined): Promise<SampleSource> {
  const source = given === undefined ? await findOnly(client, kind) : await getNamed(client, kind, given);
  if (source.path_token === null) return { ...source, path: `/webhook/${source.name}` };
  const answer = await client.get(`/api/v1/sources/${encodeURIComponent(source.name)}/path-token`);
  return { ...source, path: (answer.read() as SourcesGetPathTokenAnswer).path };
}

type FoundSource = Pick<Source, "name" | "kind" | "options" | "secrets" | "path_token">;

async function findOnly(client: ApiClient, kind: string): Promise<FoundSource> {
  const all = await listAll<Source>(client, "/api/v1/sources", { kind });
  const [only, ...others] = all;
  if (only === undefined) {
    throw new CommandFailure(
      `The gateway has no source of the kind ${kind}. Create one with \`posthorn sources create NAME --kind ${kind}\`, or name a source with --to.`,
    );
  }
  if (others.length === 0) return only;
  const names = all.map(({ name }) => name).join(", ");
  throw new CommandFailure(`${all.length} sources are of the kind ${kind}: ${names}. Name one with --to.`);
}

async function getNamed(client: ApiClient, kind: string, name: string): Promise<FoundSource> {
  const answer = await client.get(`/api/v1/sources/${encodeURIComponent(name)}`, {}, [404]);
  // The `*` source accepts any name and verifies nothing.
  if (answer.status === 404) return { name, kind: "generic", options: {}, secrets: [], path_token: null };
  const source = answer.read() as Source;
  if (source.kind === kind) return source;
  throw usageFailure(`The source ${name} is of the kind ${source.kind}, not ${kind}.`);
}

/** A gateway never shows the secrets of a source, so they come from a flag or the configuration in this folder. */
function findSecret(
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

/** All samples, those of plugins included, by the kinds of source. */
export async function loadSamples(): Promise<readonly Sample[]> {
  const brought = await Promise.all(PLUGINS.map(async (plugin) => (await plugin.loadSamples?.()) ?? []));
  return [...SAMPLES, ...brought.flat()].sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

function getSample(samples: readonly Sample[], kind: string): Sample {
  const sample = samples.find((one) => one.kind === kind);
  if (sample !== undefined) return sample;
  const kinds = samples.map((one) => one.kind);
  const hint = suggestName(kind, kinds);
  throw usageFailure(`There is no provider "${kind}"${hint || "."} \`posthorn trigger\` lists them.`);
}

function listSamples(samples: readonly Sample[], isJson: boolean): void {
  const rows = samples.map(({ kind, events, unsignable }) => ({
    provider: kind,
    events: Object.keys(events),
    can_be_sent: unsignable === undefined,
  }));
  if (isJson) return printJson(rows);
  // Not a table, which would cut off a long list of events.
  printFacts([
    ["PROVIDER", "EVENTS"],
    ...rows.map(({ provider, events }) => [provider, events.join(", ") || "(only the provider can sign)"] as const),
  ]);
}
