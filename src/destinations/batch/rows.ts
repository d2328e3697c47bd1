import { createHash } from "node:crypto";
import { buildData, readDetails } from "../event-data.ts";
import type { Attempt } from "../sender.ts";

/** A line of JSON for each event. It has nothing of the attempt: the same event is always the same row. */

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

export function writeRow(attempt: Attempt, rows: "event" | "payload"): Buffer {
  const { event } = attempt;
  const { name, data } = buildData(event);
  const json = toOneLine(data);
  if (rows === "event") return wrap(`{${writeFacts(attempt)},"${name}":`, json, "}\n");
  return name === "data" ? wrap("", json, "\n") : wrap(`{"${name}":`, json, "}\n");
}

/** Uses the names of the API. */
function writeFacts({ event, details }: Attempt): string {
  const { sourceId, userId, sessionId, metadata } = readDetails(details);
  const facts: Readonly<Record<string, string | undefined>> = {
    event_id: event.originId ?? event.id,
    event_type: event.type,
    event_version: event.version,
    source: event.source,
    source_id: sourceId,
    tenant_id: event.tenantId,
    user_id: userId,
    session_id: sessionId,
    priority: event.priority,
    ordering_key: event.orderingKey,
    timestamp: new Date(event.occurredAt).toISOString(),
    received_at: new Date(event.receivedAt).toISOString(),
    content_type: event.contentType,
  };
  const known = JSON.stringify(facts).slice(1, -1);
  return metadata === undefined ? known : `${known},"metadata":${toOneLineText(metadata)}`;
}

/** In JSON, line breaks are only possible between values: inside a string they are escaped. */
function toOneLine(json: Uint8Array): Uint8Array {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json;
  return Buffer.from(json).map((byte) => (byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte));
}

function toOneLineText(json: string): string {
  return json.replaceAll(/[\r\n]/g, " ");
}

function wrap(before: string, json: Uint8Array, after: string): Buffer {
  return Buffer.concat([Buffer.from(before, "utf8"), json, Buffer.from(after, "latin1")]);
}

/** Stays the same when the same rows are sent again in the same order; differs for a replay. */
export function batchId(rows: readonly Buffer[], attempts: readonly Attempt[]): string {
  const hash = createHash("sha256");
  for (const row of rows) hash.update(row);
  for (const { generation } of attempts) if (generation > 1) hash.update(`${generation} `);
  return hash.digest("hex").slice(0, 32);
}
