import { escapeControls } from "../telemetry/terminal-text.ts";
import type { StreamFrame } from "./event-stream.ts";
import { formatAgo, formatBytes, shorten } from "./output.ts";

/** One line for people for each frame; text from senders is escaped. */

const MAX_PAYLOAD_CHARACTERS = 200;

const COLOURS = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, grey: 90 } as const;
type Colour = keyof typeof COLOURS;
type Part = readonly [text: string, colour?: Colour];

interface ShownEvent {
  event_id: string;
  event_type: string;
  source: string;
  tenant_id: string;
  unmatched: boolean;
  received_at: string;
  size: number;
  payload?: unknown;
}

interface ShownAttempt {
  event_id: string;
  event_type: string;
  subscription_id: string;
  subscription_name: string | null;
  status: string;
  next_attempt_at: string | null;
  dead_reason: string | null;
  attempt: {
    number: number;
    started_at: string;
    duration_ms: number;
    response_code: number | null;
    error: string | null;
  };
}

interface Gap {
  reason: string;
  complete_since: string | null;
}

export function formatFrame({ name, data }: StreamFrame, isColoured: boolean): string {
  const parts = describe(name, JSON.parse(data) as never);
  return parts.map(([text, colour]) => paint(escapeControls(text), isColoured ? colour : undefined)).join("  ");
}

function describe(name: string, data: ShownEvent & ShownAttempt & Gap): readonly Part[] {
  switch (name) {
    case "event":
      return describeEvent(data);
    case "attempt":
      return describeAttempt(data);
    case "gap":
      return [
        ["gap", "red"],
        [data.reason === "deleted" ? "events in between were deleted" : "the gateway does not know the position"],
        [data.complete_since === null ? "complete from now on" : `complete since ${data.complete_since}`, "grey"],
      ];
    default:
      return [
        [timeOf(data.received_at), "grey"],
        [name.padEnd(7), name === "alert" ? "red" : "magenta"],
        [data.event_type],
        [data.tenant_id, "grey"],
        [shortJson(data.payload)],
      ];
  }
}

function describeEvent(event: ShownEvent): readonly Part[] {
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

function describeAttempt(data: ShownAttempt): readonly Part[] {
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
