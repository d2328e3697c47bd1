import type { StreamAttempt, StreamEvent, StreamGap } from "../../sdk/src/generated/shapes.ts";
import type { ServerSentEvent } from "../../sdk/src/client/server-sent-events.ts";
import { escapeControls } from "../telemetry/terminal-text.ts";
import { type ClientFlags, connect } from "./connect.ts";
import { followStream } from "./event-stream.ts";
import { formatAgo, formatBytes, note, print, printEscaped, shorten } from "./output.ts";
import { readTime } from "./read-value.ts";
import { findId, SUBSCRIPTION } from "./resources/resource.ts";
import { openInterruption } from "./surroundings.ts";
import { findTerminal } from "./terminal.ts";

export interface TailFlags extends ClientFlags {
  frames?: string;
  type?: string;
  source?: string;
  tenant?: string;
  subscription?: string;
  status?: string;
  reason?: string;
  id?: string;
  orderingKey?: string;
  label?: string[];
  unmatched?: boolean;
  rule?: string;
  severity?: string;
  since?: string;
  body?: boolean;
  after?: string;
  follow: boolean;
}

/** Runs until a signal ends it or, without following, until everything was shown. */
export async function runTail(flags: TailFlags): Promise<void> {
  const client = await connect(flags);
  const subscription =
    flags.subscription === undefined ? undefined : await findId(client, SUBSCRIPTION, flags.subscription);
  const { signal, close } = openInterruption();
  const { hasColour } = findTerminal();
  const show = flags.json === true ? showJson : (frame: ServerSentEvent) => printEscaped(formatFrame(frame, hasColour));
  const frames = followStream(client, {
    query: {
      types: flags.frames,
      event_type: flags.type,
      source: flags.source,
      tenant_id: flags.tenant,
      subscription_id: subscription,
      status: flags.status,
      reason: flags.reason,
      id: flags.id,
      ordering_key: flags.orderingKey,
      label: flags.label,
      unmatched: flags.unmatched === true ? "true" : undefined,
      rule: flags.rule,
      severity: flags.severity,
      since: flags.since === undefined ? undefined : readTime(flags.since, "--since"),
      body: flags.body === true ? "true" : undefined,
      follow: flags.follow ? undefined : "false",
    },
    after: flags.after,
    signal,
    opening: `following ${client.url}`,
  });
  try {
    for await (const frame of frames) show(frame);
  } finally {
    close();
  }
  if (signal.aborted) note("the gateway keeps running without this command");
}

/** The unparsed data: parsing would change numbers beyond 2^53. */
function showJson({ event, id, data }: ServerSentEvent): void {
  print(`{"type":${JSON.stringify(event)},"id":${JSON.stringify(id ?? null)},"data":${data}}`);
}

/** One line for people for each frame; text from senders is escaped. */

const MAX_PAYLOAD_CHARACTERS = 200;

const COLOURS = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, grey: 90 } as const;
type Colour = keyof typeof COLOURS;
type Part = readonly [text: string, colour?: Colour];

function formatFrame({ event, data }: ServerSentEvent, isColoured: boolean): string {
  const parts = describe(event, JSON.parse(data) as unknown);
  return parts.map(([text, colour]) => paint(escapeControls(text), isColoured ? colour : undefined)).join("  ");
}

function describe(name: string, data: unknown): readonly Part[] {
  if (name === "event") return describeEvent(data as StreamEvent);
  if (name === "attempt") return describeAttempt(data as StreamAttempt);
  if (name === "gap") return describeGap(data as StreamGap);
  const event = data as StreamEvent;
  return [
    [timeOf(event.received_at), "grey"],
    [name.padEnd(7), name === "alert" ? "red" : "magenta"],
    [event.event_type],
    [event.tenant_id, "grey"],
    [shortJson(event.payload)],
  ];
}

function describeGap({ reason, complete_since: since }: StreamGap): readonly Part[] {
  return [
    ["gap", "red"],
    [reason === "deleted" ? "events in between were deleted" : "the gateway does not know the position"],
    [since === null ? "complete from now on" : `complete since ${since}`, "grey"],
  ];
}

function describeEvent(event: StreamEvent): readonly Part[] {
  const { payload } = event;
  return [
    [timeOf(event.received_at), "grey"],
    ["event  ", "blue"],
    [event.event_type],
    [event.event_id],
    [`${event.source}, ${event.tenant_id}, ${formatBytes(event.size)}`, "grey"],
    ...(event.unmatched ? [["unmatched", "yellow"] as const] : []),
    ...(payload === undefined ? [] : [[shortJson(payload)] as const]),
  ];
}

const OUTCOMES: Readonly<Record<string, Colour>> = { delivered: "green", dead: "red", pending: "yellow" };

function describeAttempt(data: StreamAttempt): readonly Part[] {
  const { attempt, status } = data;
  // Mail servers and queues answer without a status code.
  const withoutCode = attempt.error ?? (status === "delivered" ? "taken" : "no answer");
  const answer = attempt.response_code === null ? withoutCode : String(attempt.response_code);
  return [
    [timeOf(attempt.started_at), "grey"],
    ["attempt", "grey"],
    [data.event_type],
    [data.event_id],
    [`#${attempt.number} to ${data.subscription_name ?? data.subscription_id}`],
    [`${answer}, ${attempt.duration_ms} ms`, "grey"],
    [status, OUTCOMES[status] ?? "grey"],
    ...(status === "dead" ? [[data.dead_reason ?? "", "red"] as const] : []),
    ...(status === "pending" ? [[`next ${formatAgo(data.next_attempt_at, Date.now())}`, "yellow"] as const] : []),
  ];
}

function timeOf(time: string): string {
  return time.slice(11, 23);
}

function shortJson(value: unknown): string {
  return shorten(JSON.stringify(value) ?? "", MAX_PAYLOAD_CHARACTERS);
}

function paint(text: string, colour: Colour | undefined): string {
  return colour === undefined ? text : `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;
}
