import type {
  ParkedMessage,
  SourcesGetParkedAnswer,
  SourcesListParkedPage,
} from "../../../sdk/src/generated/shapes.ts";
import type { ApiClient } from "../api-client.ts";
import { connect, type ClientFlags } from "../connect.ts";
import { usageFailure } from "../failure.ts";
import { countOf, formatAgo, formatBytes, note, print, printDocument, printFacts, printTable } from "../output.ts";

export interface ParkedFlags extends ClientFlags {
  reason?: string;
  id?: string[];
  limit?: string;
  cursor?: string;
}

export interface PurgeFlags extends ParkedFlags {
  confirm?: string;
}

function placeOf(source: string, below = ""): string {
  return `/api/v1/sources/${encodeURIComponent(source)}/parked${below}`;
}

export async function runListParked(source: string, flags: ParkedFlags): Promise<void> {
  const client = await connect(flags);
  const { reason, limit, cursor } = flags;
  const answer = await client.get(placeOf(source), { reason, limit, cursor });
  if (flags.json === true) return print(answer.text);
  const { data, next_cursor: next, count, limits } = answer.read() as SourcesListParkedPage;
  if (data.length > 0) printTable(["ID", "PARKED", "REASON", "QUEUE", "SIZE", "WHY"], data.map(toRow));
  if (count === null) note("the broker does not report how many messages there are");
  else if (reason === undefined) note(`${countOf(count, "message is", "messages are")} parked`);
  else note(`${countOf(data.length, "message matches", "messages match")}, of ${count} parked`);
  if (next !== null) note(`more messages follow: add --cursor ${next}`);
  else if ((count ?? 0) > limits.looks_at) note(`this broker shows only its oldest ${limits.looks_at}`);
}

function toRow({ id, reason, queue, size, description, parked_at: parkedAt }: ParkedMessage): string[] {
  return [id, formatAgo(parkedAt, Date.now()), reason ?? "-", queue ?? "-", formatBytes(size), description ?? "-"];
}

export async function runShowParked(source: string, id: string, flags: ParkedFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.get(placeOf(source, `/${encodeURIComponent(id)}`));
  if (flags.json === true) return print(answer.text);
  const one = answer.read() as SourcesGetParkedAnswer;
  printFacts([
    ["id", one.id],
    ["message id", one.message_id],
    ["reason", one.reason],
    ["why", one.description],
    ["came from", one.queue],
    ["subject", one.subject],
    ["content type", one.content_type],
    ["size", formatBytes(one.size)],
    ["parked", one.parked_at],
  ]);
  printDocument(one.body ?? one.body_base64 ?? "");
}

export async function runRequeueParked(source: string, flags: ParkedFlags): Promise<void> {
  const client = await connect(flags);
  const { count } = (await client.get(placeOf(source), { limit: 1 })).read() as SourcesListParkedPage;
  const total = { requeued: 0, without_origin: 0 };
  // A message that was put back may be parked again at once, so never requeue more than there were.
  do {
    const answer = await post(client, placeOf(source, "/requeue"), toSelection(flags));
    const { requeued, without_origin: stuck, complete } = answer as typeof total & { complete: boolean };
    total.requeued += requeued;
    total.without_origin = stuck;
    if (complete || requeued === 0) break;
  } while (total.requeued < (count ?? 0));
  if (flags.json === true) return print(JSON.stringify(total));
  print(`${countOf(total.requeued, "message")} requeued`);
  if (total.without_origin > 0) {
    note(
      `${countOf(total.without_origin, "message stays", "messages stay")}: the queue that they came from is unknown`,
    );
  }
}

export async function runPurgeParked(source: string, flags: PurgeFlags): Promise<void> {
  const client = await connect(flags);
  const count = flags.confirm === undefined ? undefined : readCount(flags.confirm);
  const answer = await post(client, placeOf(source, "/purge"), { ...toSelection(flags), count });
  if (flags.json === true) return print(JSON.stringify(answer));
  const { purged, complete } = answer as { purged: number; complete: boolean };
  print(`${countOf(purged, "message")} deleted`);
  if (!complete) note("there are more messages: run the command again");
}

async function post(client: ApiClient, path: string, body: object): Promise<unknown> {
  return (await client.send("POST", path, { json: body })).read();
}

function toSelection({ reason, id }: ParkedFlags): object {
  return { reason, ids: id };
}

function readCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usageFailure(`--confirm: "${text}" is not a number of messages.`);
}
