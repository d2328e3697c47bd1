import { randomUUID } from "node:crypto";
import { suggestName } from "../../model/nearest-name.ts";
import { fillSample, type Sample, type Signed } from "../../sources/sample.ts";
import { createApiClient, type ApiAnswer } from "../api-client.ts";
import { connect, type ClientFlags } from "../connect.ts";
import { CommandFailure, EXIT_FAILED, usageFailure } from "../failure.ts";
import { countOf, note, print, printJson } from "../output.ts";
import { openProgress } from "../progress.ts";
import { HEADER, isJson, readBytes, readCount, readPairs, readPayload, readSecret } from "../read-value.ts";
import { getSurroundings } from "../surroundings.ts";
import { findSecret, findSource, type SampleSource } from "./find-source.ts";
import { getSample, listSamples, loadSamples } from "./samples.ts";

export interface TriggerFlags extends ClientFlags {
  to?: string;
  secret?: string;
  secretFile?: string;
  data?: string;
  count: string;
  header?: string[];
  publicUrl?: string;
}

const MAX_COUNT = 1_000_000;
/** Up to this many requests are reported one by one. */
const MAX_TOLD = 20;

export async function runTrigger(
  provider: string | undefined,
  event: string | undefined,
  flags: TriggerFlags,
): Promise<void> {
  const samples = await loadSamples();
  if (provider === undefined) return listSamples(samples, flags.json === true);
  const sample = getSample(samples, provider);
  if (sample.unsignable !== undefined) {
    throw new CommandFailure(`Requests of ${provider} cannot be created here. ${sample.unsignable}`);
  }
  if (event === undefined) return listSamples([sample], flags.json === true);
  await send(sample, event, flags);
}

async function send(sample: Sample, event: string, flags: TriggerFlags): Promise<void> {
  const count = readCount(flags.count, "--count", { min: 1, max: MAX_COUNT });
  const wanted = getEvent(sample, event);
  const data = flags.data === undefined ? undefined : readData(flags.data);
  const more = readPairs(flags.header ?? [], "--header", HEADER);
  const client = await connect(flags);
  const source = await findSource(client, sample, flags.to);
  const secret = findSecret(sample, source, readGivenSecret(flags));
  // Without a key, like a provider: webhooks must not carry the gateway's API key.
  const sender = createApiClient(client.url, undefined);
  const origin = flags.publicUrl ?? getSurroundings().env["POSTHORN_PUBLIC_URL"] ?? client.url;
  const progress = openProgress(count);
  const outcomes: Outcome[] = [];
  try {
    for (let sent = 0; sent < count; sent++) {
      const request = build(sample, wanted, { source, secret, data, origin: origin.replace(/\/+$/, "") });
      const path = `${source.path}${request.query === "" ? "" : `?${request.query}`}`;
      const answer = await sender.send("POST", path, {
        body: new Uint8Array(request.body),
        headers: { ...request.headers, ...more },
        expected: [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 503],
      });
      outcomes.push(readOutcome(answer));
      progress.show(outcomes.length);
      if (answer.status >= 400) break;
    }
  } finally {
    progress.close();
  }
  tell(outcomes, { sample, source, isJson: flags.json === true });
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
  source: SampleSource;
  secret: string | undefined;
  data: Buffer | undefined;
  origin: string;
}

function build(
  sample: Sample,
  event: Sample["events"][string],
  { source, secret, data, origin }: Parts,
): { headers: Record<string, string>; body: Buffer; query: string } {
  const facts = { at: Date.now(), id: randomUUID() };
  const { headers, body: filled } = fillSample(event, facts.at, facts.id);
  const body = data ?? filled;
  const { options } = source;
  const url = typeof options["url"] === "string" ? options["url"] : origin + source.path;
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

function tell(
  outcomes: readonly Outcome[],
  { sample, source, isJson }: { sample: Sample; source: SampleSource; isJson: boolean },
): void {
  const refused = outcomes.find(({ status }) => status >= 400);
  const accepted = outcomes.filter(({ status }) => status < 400);
  if (isJson) printJson({ source: source.name, accepted: accepted.length, answers: outcomes });
  else if (outcomes.length <= MAX_TOLD) for (const outcome of accepted) print(describe(outcome));
  if (!isJson && outcomes.length > 1) note(`${countOf(accepted.length, "request")} accepted by ${source.name}`);
  if (refused !== undefined) throw new CommandFailure(explain(refused, sample, source), EXIT_FAILED);
}

function describe({ status, said }: Outcome): string {
  if (said.event_id === undefined) return `accepted (${status})`;
  if (said.status === "duplicate") return `${said.event_id}  duplicate: the gateway already had it`;
  if (said.deliveries === 0) return `${said.event_id}  stored; no subscription matches, so it is not delivered`;
  if (said.deliveries === undefined) return `${said.event_id}  ${said.status ?? "accepted"}`;
  return `${said.event_id}  ${countOf(said.deliveries, "delivery", "deliveries")}`;
}

const SIGNS_URL = new Set(["hubspot", "square", "twilio"]);

function explain({ status, said }: Outcome, { kind }: Sample, { name, hints }: SampleSource): string {
  const what = `The source ${name} answered ${status}: ${said.detail ?? "no reason given"} (${said.code ?? "no code"})`;
  if (said.code !== "bad_signature") return what;
  const hint = hints.length === 0 ? "" : ` Its secrets end in ${hints.join(", ")}.`;
  const url = SIGNS_URL.has(kind) ? " This provider signs the URL too: give the gateway's own with --public-url." : "";
  return `${what}${hint}${url} Check the secret.`;
}
