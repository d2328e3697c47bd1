import { PRIORITIES } from "../model/event.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { CommandFailure, EXIT_FAILED, usageFailure } from "./failure.ts";
import { runUntilInterrupted } from "./surroundings.ts";
import { countOf, note, openProgress, print, printJson } from "./output.ts";
import { HEADER, isJson, readCount, readPairs, readPayload } from "./read-value.ts";
import type { Row } from "./resources/fields.ts";
import { flag, ownFlag } from "./resources/flags.ts";
import { type Call, type SingleAction, TENANT } from "./resources/resource.ts";

interface SendFlags extends ClientFlags {
  data: string;
  count: string;
  id?: string;
  metadata?: string;
  webhook?: string;
  contentType?: string;
  header?: string[];
}

export const ACTION: SingleAction = {
  takes: "[event-type]",
  flags: [
    ownFlag("-d, --data <json>", "the payload: JSON, @FILE, or - for standard input", { default: "{}" }),
    flag("--id <id>", "id of the event: each id is accepted only once", { field: "event_id" }),
    flag("--ordering-key <key>", "events with the same key reach an ordered subscription in order"),
    flag("--priority <priority>", "which waiting deliveries are sent first", { choices: PRIORITIES }),
    flag("--source <name>", "the system that the event comes from"),
    flag("--tenant <tenant>", "the tenant of the event (for keys that are not bound to a tenant)", {
      field: "tenant_id",
      named: TENANT,
    }),
    flag("--deliver-at <time>", "deliver not before this time (RFC 3339)"),
    flag("--expires-at <time>", "deliver not after this time (RFC 3339)"),
    ownFlag("--metadata <json>", "more information about the event, a JSON object"),
    ownFlag("-n, --count <number>", "send the event this many times; a number is added to a given id", {
      default: "1",
    }),
    ownFlag("--webhook <source>", "post the data to /webhook/SOURCE instead, as a provider would; needs no key"),
    ownFlag("--content-type <type>", "content type of the webhook (default: application/json, if it is JSON)"),
    ownFlag("-H, --header <name: value...>", "header of the webhook; may be given several times"),
  ],
  run: send,
  notes: `Examples:
  posthorn send order.created --data '{"id": 7}' --ordering-key customer-3
  posthorn send order.created --data @order.json --id order-7-created
  posthorn send load.test --count 10000
  posthorn send --webhook github --data @push.json -H 'X-GitHub-Event: push'`,
};

/** The gateway's answer for one event; for a rejected one, a problem. */
interface Sent {
  event_id?: string;
  deliveries?: number;
  duplicate?: boolean;
  status?: string | number;
  code?: string;
  detail?: string;
}

const JSON_TYPE = { "content-type": "application/json" };
const MAX_COUNT = 10_000_000;
const MAX_BATCH_EVENTS = 500;
const MAX_BATCH_BYTES = 8 * 1_048_576;
const PARALLEL_WEBHOOKS = 16;
const MAX_SHOWN = 20;
const MAX_KEPT = 100_000;

async function send({ args: [eventType], body: fields, flags }: Call<SendFlags>): Promise<void> {
  const count = readCount(flags.count, "--count", { min: 1, max: MAX_COUNT });
  const data = readPayload(flags.data);
  const summary = createSummary(count);
  const run = (signal: AbortSignal): Promise<void> => {
    const sending = { flags, data, count, summary, signal };
    return flags.webhook === undefined ? publish(eventType, fields, sending) : postWebhooks(eventType, fields, sending);
  };
  // One event is sent or not: Ctrl+C has nothing to report.
  if (count === 1) await run(new AbortController().signal);
  else await runUntilInterrupted(run, summary.leave);
  summary.print(flags.json === true);
}

interface Sending {
  flags: SendFlags;
  data: Buffer;
  count: number;
  summary: Summary;
  signal: AbortSignal;
}

async function publish(eventType: string | undefined, fields: Row, sending: Sending): Promise<void> {
  const { flags, data, count, summary, signal } = sending;
  if (eventType === undefined) throw usageFailure("Name an event type, or a source with --webhook.");
  if (flags.contentType !== undefined) throw usageFailure("--content-type is for --webhook only.");
  if (flags.header !== undefined) throw usageFailure("--header is for --webhook only.");
  checkJson("--data", data.toString("utf8"));
  if (flags.metadata !== undefined) checkJson("--metadata", flags.metadata);
  const client = await connect(flags);
  const post = async (parts: readonly Buffer[]) =>
    (await client.send("POST", "/api/v1/events", { body: toBytes(parts), headers: JSON_TYPE })).read();
  const buildEvent = (number: number | undefined): Buffer => {
    const head = JSON.stringify({ event_type: eventType, ...fields, event_id: numberId(flags.id, number) });
    const metadata = flags.metadata === undefined ? "" : `,"metadata":${flags.metadata}`;
    // The payload's own bytes: parsing and writing it again would change numbers beyond 2^53.
    return Buffer.concat([Buffer.from(`${head.slice(0, -1)}${metadata},"payload":`), data, Buffer.from("}")]);
  };
  if (count === 1) {
    return summary.add((await post([buildEvent(undefined)])) as Sent);
  }
  const perBatch = Math.max(1, Math.min(MAX_BATCH_EVENTS, Math.floor(MAX_BATCH_BYTES / (data.length + 1024))));
  for (let from = 0; from < count && !signal.aborted; from += perBatch) {
    const size = Math.min(perBatch, count - from);
    const parts = Array.from({ length: size }, (_, index) => [
      Buffer.from(index === 0 ? "[" : ","),
      buildEvent(from + index + 1),
    ]);
    const { events } = (await post([...parts.flat(), Buffer.from("]")])) as { events: Sent[] };
    for (const sent of events) summary.add(sent);
  }
}

async function postWebhooks(eventType: string | undefined, fields: Row, sending: Sending): Promise<void> {
  const { flags, data, count, summary, signal } = sending;
  if (eventType !== undefined) throw usageFailure("A webhook has no event type of its own: its source decides.");
  const ofEvents = [...Object.keys(fields), ...(flags.metadata === undefined ? [] : ["metadata"])];
  const unfit = ofEvents.find((name) => name !== "event_id");
  if (unfit !== undefined) {
    throw usageFailure(`--${unfit.replace(/_id$/, "").replaceAll("_", "-")} cannot be used with --webhook.`);
  }
  const client = await connect(flags, { needsKey: false });
  const path = `/webhook/${(flags.webhook ?? "").split("/").map(encodeURIComponent).join("/")}`;
  const contentType = flags.contentType ?? (isJson(data.toString("utf8")) ? "application/json" : undefined);
  const headers = {
    ...(contentType !== undefined && { "content-type": contentType }),
    ...readPairs(flags.header ?? [], "--header", HEADER),
  };
  const body = toBytes([data]);
  let next = 1;
  const post = async (): Promise<void> => {
    while (next <= count && !signal.aborted) {
      const id = numberId(flags.id, count === 1 ? undefined : next);
      next += 1;
      const own = id === undefined ? headers : { ...headers, "webhook-id": id };
      const sent = (await client.send("POST", path, { body, headers: own })).read() as Sent;
      summary.add({ ...sent, duplicate: sent.status === "duplicate" });
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_WEBHOOKS, count) }, post));
}

type Summary = ReturnType<typeof createSummary>;

function createSummary(count: number) {
  const kept: Sent[] = [];
  const totals = { sent: 0, deliveries: 0, duplicates: 0, refused: 0 };
  let firstProblem: string | undefined;
  const progress = openProgress(count);
  return {
    add(sent: Sent): void {
      if (kept.length < MAX_KEPT) kept.push(sent);
      totals.sent += 1;
      totals.deliveries += sent.deliveries ?? 0;
      if (sent.duplicate === true) totals.duplicates += 1;
      if (sent.event_id === undefined) {
        totals.refused += 1;
        firstProblem ??= `${sent.detail} (${sent.code})`;
      }
      progress.show(totals.sent);
    },
    leave(): void {
      progress.close();
      note(
        `interrupted: at least ${totals.sent} of ${count} were sent; the gateway delivers them without this command`,
      );
    },
    print(isJson: boolean): void {
      progress.close();
      if (isJson) printJson(count === 1 ? kept[0] : { ...totals, events: kept });
      else if (count <= MAX_SHOWN) for (const sent of kept) print(describeSent(sent));
      const { sent, deliveries, duplicates, refused } = totals;
      const counts = `${countOf(sent, "event")}, ${countOf(deliveries, "delivery", "deliveries")}`;
      if (!isJson && count > 1) note(`${counts}, ${countOf(duplicates, "duplicate")}, ${refused} rejected`);
      if (firstProblem !== undefined) throw new CommandFailure(firstProblem, EXIT_FAILED);
    },
  };
}

function describeSent({ event_id, deliveries = 0, duplicate, detail, code }: Sent): string {
  if (event_id === undefined) return `rejected: ${detail} (${code})`;
  if (duplicate === true) return `${event_id}  duplicate: the gateway already had it, nothing changed`;
  if (deliveries === 0) return `${event_id}  stored; no subscription matches, so it is not delivered`;
  return `${event_id}  ${countOf(deliveries, "delivery", "deliveries")}`;
}

function numberId(id: string | undefined, number: number | undefined): string | undefined {
  return id === undefined || number === undefined ? id : `${id}-${number}`;
}

function checkJson(flag: string, text: string): void {
  if (!isJson(text)) throw usageFailure(`${flag} is not JSON; put the JSON into quotes, or name a file with @FILE.`);
}

function toBytes(parts: readonly Buffer[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}
