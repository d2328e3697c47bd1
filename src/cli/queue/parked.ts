import type {
  ParkedMessage,
  SourcesGetParkedAnswer,
  SourcesListParkedPage,
  SourcesPurgeParkedAnswer,
  SourcesRequeueParkedAnswer,
} from "../../../sdk/src/generated/shapes.ts";
import { connect, type ClientFlags } from "../connect.ts";
import { countOf, formatAgo, formatBytes, note, print, printDocument, printFacts, printTable } from "../output.ts";
import { readCount } from "../read-value.ts";

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
  const json = toSelection(flags);
  let answer: SourcesRequeueParkedAnswer;
  let requeued = 0;
  // A message that was put back may be parked again at once, so never requeue more than there were.
  do {
    answer = (await client.send("POST", placeOf(source, "/requeue"), { json })).read() as SourcesRequeueParkedAnswer;
    requeued += answer.requeued;
  } while (!answer.complete && answer.requeued > 0 && requeued < (count ?? 0));
  const { without_origin: stuck } = answer;
  if (flags.json === true) return print(JSON.stringify({ requeued, without_origin: stuck }));
  print(`${countOf(requeued, "message")} requeued`);
  if (stuck > 0) note(`${countOf(stuck, "message stays", "messages stay")}: the queue that they came from is unknown`);
}

export async function runPurgeParked(source: string, flags: PurgeFlags): Promise<void> {
  const client = await connect(flags);
  const count = flags.confirm === undefined ? undefined : readCount(flags.confirm, "--confirm");
  const json = { ...toSelection(flags), count };
  const answer = await client.send("POST", placeOf(source, "/purge"), { json });
  const { purged, complete } = answer.read() as SourcesPurgeParkedAnswer;
  if (flags.json === true) return print(answer.text);
  print(`${countOf(purged, "message")} deleted`);
  if (!complete) note("there are more messages: run the command again");
}

function toSelection({ reason, id }: ParkedFlags): object {
  return { reason, ids: id };
}
