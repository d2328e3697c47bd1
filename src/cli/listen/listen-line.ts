import { escapeControls, escapeLines } from "../../telemetry/terminal-text.ts";
import { formatBytes } from "../output.ts";
import { createPaint, findTerminal } from "../terminal.ts";
import type { ListenedEvent } from "./build-request.ts";
import type { LocalAnswer, LocalRequest } from "./local-server.ts";

/** Two lines for each event: the request, and the answer of the local server. */

const MAX_SHOWN_BYTES = 4096;

export function describeRequest(event: ListenedEvent, { method, path, query, body }: LocalRequest): string {
  const paint = createPaint(findTerminal());
  const place = `${path}${query === "" ? "" : `?${query}`}`;
  const facts = [event.event_type, event.event_id, formatBytes(body.length)];
  return [
    paint("dim", event.received_at.slice(11, 19)),
    paint("cyan", "->"),
    escapeControls([method, place, ...facts].filter((part) => part !== "").join("  ")),
  ].join("  ");
}

export function describeAnswer(status: number | string, durationMs: number | undefined, consequence: string): string {
  const paint = createPaint(findTerminal());
  const isGood = typeof status === "number" && status >= 200 && status < 300;
  const took = durationMs === undefined ? "" : `${durationMs} ms`;
  return [
    " ".repeat(8),
    paint(isGood ? "green" : "red", "<-"),
    paint(isGood ? "green" : "red", escapeControls(String(status))),
    ...[took, consequence].filter((part) => part !== ""),
  ].join("  ");
}

/** Headers and body, for `--verbose`. Escaped, so that text from senders cannot move the cursor. */
export function describeWhole(headers: readonly (readonly [name: string, value: string])[], body: Buffer): string {
  const lines = headers.map(([name, value]) => `    ${escapeControls(`${name}: ${value}`)}`);
  return [...lines, ...describeBody(body)].join("\n");
}

export function headersOf({ headers }: LocalAnswer): readonly (readonly [string, string])[] {
  return Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one] as const));
}

function describeBody(body: Buffer): readonly string[] {
  if (body.length === 0) return [];
  const text = body.subarray(0, MAX_SHOWN_BYTES).toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(body.subarray(0, MAX_SHOWN_BYTES)) && !text.includes("\0");
  if (!isText) return ["", `    (${formatBytes(body.length)} of binary data)`];
  const more = body.length > MAX_SHOWN_BYTES ? [`    … ${formatBytes(body.length - MAX_SHOWN_BYTES)} more`] : [];
  return [
    "",
    ...escapeLines(text)
      .split("\n")
      .map((line) => `    ${line}`),
    ...more,
  ];
}
