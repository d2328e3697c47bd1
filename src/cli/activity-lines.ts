import type { Activity, AnsweredRequest, EndedAttempt } from "../telemetry/activity.ts";
import { escapeControls } from "../telemetry/terminal-text.ts";
import { countOf, formatWait, shorten } from "./output.ts";
import { createPaint, type Style, type Terminal } from "./terminal.ts";

/** One short line for each request, message and attempt, for somebody who watches a gateway on a terminal. */

interface ActivityLinesOptions {
  write: (line: string) => void;
  findTerminal: () => Terminal;
  now: () => number;
  later: (run: () => void, ms: number) => void;
}

/** The most lines a person can read in a second. Lines left out are counted; failures have a budget of their own. */
const LINES_PER_S = 20;
const FAILURES_PER_S = 10;
const SECOND_MS = 1000;
const GOOD_OUTCOMES: ReadonlySet<string> = new Set(["accepted", "duplicate", "ignored"]);
/** Requests that come every few seconds and say nothing new. */
const PROBES: ReadonlySet<string> = new Set(["/health", "/livez", "/readyz", "/metrics"]);
const DEFAULT_WIDTH = 80;
const MIN_SUBJECT = 12;
/** The part of an error that still fits into a line of 80 columns. */
const MAX_WORDS = 18;

type Part = readonly [text: string, style?: Style | undefined];

export function createActivityLines({ write, findTerminal, now, later }: ActivityLinesOptions): Activity {
  let room = { lines: LINES_PER_S, failures: FAILURES_PER_S };
  let hidden = { requests: 0, attempts: 0 };
  let isCounting = false;

  function refill(): void {
    isCounting = false;
    const { requests, attempts } = hidden;
    room = { lines: LINES_PER_S, failures: FAILURES_PER_S };
    hidden = { requests: 0, attempts: 0 };
    if (requests + attempts === 0) return;
    const counts = `${countOf(requests, "request")} and ${countOf(attempts, "attempt")} more in the last second`;
    write(layOut(["…  ", "dim"], [counts, "dim"], []));
  }

  function mayShow(isFailure: boolean, kind: "requests" | "attempts"): boolean {
    if (!isCounting) later(refill, SECOND_MS);
    isCounting = true;
    if (room.lines > 0) room.lines -= 1;
    else if (isFailure && room.failures > 0) room.failures -= 1;
    else {
      hidden[kind] += 1;
      return false;
    }
    return true;
  }

  /** Cuts the subject off when the terminal is too narrow, and leaves out the id where it does not fit. */
  function layOut(head: Part, [subject, style]: Part, rest: readonly Part[], id?: string): string {
    const terminal = findTerminal();
    const paint = createPaint(terminal);
    const time = timeOf(now());
    const fixed = [time, head[0], ...rest.map(([text]) => text)].reduce((sum, text) => sum + text.length + 1, 0);
    const left = Math.max(MIN_SUBJECT, (terminal.width ?? DEFAULT_WIDTH) - fixed);
    const [shown, shownId] = [escapeControls(subject), id === undefined ? undefined : escapeControls(id)];
    const parts: Part[] = [[time, "dim"], head, [shorten(shown, left), style], ...rest];
    if (shownId !== undefined && shown.length + shownId.length < left) parts.push([shownId, "dim"]);
    return parts.map(([text, how]) => (how === undefined ? text : paint(how, text))).join(" ");
  }

  return {
    request(request) {
      if (PROBES.has(request.path) || !mayShow(request.status >= 400, "requests")) return;
      const { method, path, status, durationMs } = request;
      const rest: Part[] = [
        [String(status), styleOf(request)],
        [`${Math.round(durationMs)} ms`, "dim"],
      ];
      write(layOut(["in ", "cyan"], [`${method} ${path}`], rest, request.eventId));
    },
    message(message) {
      const isGood = GOOD_OUTCOMES.has(message.outcome);
      if (!mayShow(!isGood, "requests")) return;
      const rest: Part[] = [
        [message.outcome, isGood ? "green" : "yellow"],
        [`${Math.round(message.durationMs)} ms`, "dim"],
      ];
      write(layOut(["in ", "cyan"], [`message of ${message.source}`], rest, message.eventId));
    },
    attempt(attempt) {
      if (!mayShow(attempt.verdict !== "delivered", "attempts")) return;
      const { eventType, subscription, responseCode, error, durationMs } = attempt;
      // The words are enough for a person who watches; the error code would add nothing.
      const words = (error ?? "no answer").replace(/ \([A-Z_]+\)$/, "");
      const answer = responseCode === undefined ? shorten(escapeControls(words), MAX_WORDS) : String(responseCode);
      const rest: Part[] = [
        [answer, responseCode === undefined ? "yellow" : undefined],
        [`${Math.round(durationMs)} ms`, "dim"],
        describeVerdict(attempt),
      ];
      write(layOut(["out", "cyan"], [`${eventType} to ${subscription}`], rest, attempt.eventId));
    },
  };
}

function styleOf({ status }: AnsweredRequest): Style {
  return status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
}

function describeVerdict({ verdict, number, retryInMs = 0 }: EndedAttempt): Part {
  if (verdict === "delivered") return [number === 1 ? "delivered" : `delivered at attempt ${number}`, "green"];
  if (verdict === "dead") return ["dead letter", "red"];
  return [`attempt ${number}, next in ${formatWait(retryInMs)}`, "yellow"];
}

function timeOf(wallMs: number): string {
  const date = new Date(wallMs);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
