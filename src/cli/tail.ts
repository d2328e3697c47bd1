import type { StreamAttempt, StreamEvent, StreamGap } from "../../sdk/src/generated/shapes.ts";
import type { ServerSentEvent } from "../../sdk/src/client/server-sent-events.ts";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../model/alert-rules.ts";
import { DEAD_REASONS, DELIVERY_STATES } from "../model/delivery.ts";
import { escapeControls } from "../telemetry/terminal-text.ts";
import { connect } from "./connect.ts";
import { followStream } from "./event-stream.ts";
import { formatAgo, formatBytes, note, print, printEscaped, shorten } from "./output.ts";
import { readTime } from "./read-value.ts";
import { asText } from "./resources/fields.ts";
import { flag, ownFlag, subscriptionFlag } from "./resources/flags.ts";
import type { Call, SingleAction } from "./resources/resource.ts";
import { openInterruption } from "./surroundings.ts";
import { createPaint, findTerminal, type Paint, type Style } from "./terminal.ts";

export const ACTION: SingleAction = {
  method: "GET",
  flags: [
    flag("--frames <list>", "which of event,attempt,mode,alert (default: all)", { field: "types" }),
    flag("--type <type>", "only this event type, or types that match a pattern: * is one word, # any number of words", {
      field: "event_type",
    }),
    flag("--source <name>", "only from this source"),
    flag("--tenant <tenant>", "only of this tenant (for keys that are not bound to a tenant)", { field: "tenant_id" }),
    subscriptionFlag("only attempts and events of this subscription, by name or id"),
    flag("--status <status>", "only attempts whose delivery has this status", { choices: DELIVERY_STATES }),
    flag("--reason <reason>", "only attempts whose delivery is dead for this", { choices: DEAD_REASONS }),
    flag("--id <id>", "only of the event with this id; ID* means those that begin so"),
    flag("--ordering-key <key>", "only of events with this ordering key"),
    flag("--label <name[=value]...>", "only events with this member of the metadata; may be given several times"),
    flag("--unmatched", "only events that no subscription wanted"),
    flag("--rule <rule>", "only alerts of this rule", { choices: ALERT_RULE_NAMES }),
    flag("--severity <severity>", "only alerts of this severity", { choices: ALERT_SEVERITIES }),
    flag("--since <time>", "begin with events received since this time: RFC 3339, or 15m, 2h, 7d ago", {
      read: readTime,
    }),
    flag("--body", "show the payloads of events"),
    ownFlag("--after <id>", "continue after the frame with this id (--json prints the ids)"),
    ownFlag("--no-follow", "end after showing what exists now"),
  ],
  run: tail,
  notes: `Reconnects when the connection is lost, and continues where it was.

Examples:
  posthorn tail
  posthorn tail --type 'order.#' --body
  posthorn tail --frames attempt --status dead --json
  posthorn tail --ordering-key order-4711 --since 2h`,
};

async function tail({ query, flags }: Call): Promise<void> {
  const client = await connect(flags);
  const { signal, close } = openInterruption();
  const paint = createPaint(findTerminal());
  const show = flags.json === true ? showJson : (frame: ServerSentEvent) => printEscaped(formatFrame(frame, paint));
  const frames = followStream(client, {
    query: { ...query, follow: flags["follow"] === false ? "false" : undefined },
    after: asText(flags["after"]),
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

type Part = readonly [text: string, style?: Style];

function formatFrame({ event, data }: ServerSentEvent, paint: Paint): string {
  const parts = describe(event, JSON.parse(data) as unknown).map(
    ([text, style]) => [escapeControls(text), style] as const,
  );
  return parts.map(([text, style]) => (style === undefined ? text : paint(style, text))).join("  ");
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

const OUTCOMES: Readonly<Record<string, Style>> = { delivered: "green", dead: "red", pending: "yellow" };

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
