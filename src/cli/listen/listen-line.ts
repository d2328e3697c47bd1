import type { StreamEvent } from "../../../sdk/src/generated/shapes.ts";
import { isTransientStatus } from "../../model/outcome.ts";
import { resolveRetryPolicy } from "../../model/retry-policy.ts";
import type { RetryPolicySpec } from "../../model/subscription.ts";
import { escapeControls, escapeLines } from "../../telemetry/terminal-text.ts";
import { countOf, formatBytes, formatWait } from "../output.ts";
import { createPaint, findTerminal } from "../terminal.ts";
import type { LocalAnswer, LocalRequest } from "./local-server.ts";

/** Two lines for each event: the request, and the answer of the local server. */

const MAX_SHOWN_BYTES = 4096;

export function describeRequest(event: StreamEvent, { method, path, query, body }: LocalRequest): string {
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

export function headersOf({ headers }: Pick<LocalAnswer, "headers">): readonly (readonly [string, string])[] {
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

/**
 * What the gateway would do if the destination of a subscription gave this answer to the first attempt. Only the
 * subscription's retries are considered.
 */
export function describeConsequence(status: number | undefined, policy: RetryPolicySpec): string {
  if (status !== undefined && status >= 200 && status < 300) return "the delivery would be complete";
  if (status === 410) return "the delivery would be dead, and the subscription suspended";
  if (status !== undefined && !isTransientStatus(status))
    return "the delivery would be dead: such an answer is not retried";
  const { delaysMs } = resolveRetryPolicy(policy);
  const [first] = delaysMs;
  if (first === undefined) return "the delivery would be dead: the subscription has no retries";
  const retries = countOf(delaysMs.length, "retry", "retries");
  return `the delivery would be retried in ${formatWait(first)}; after ${retries} it would be dead`;
}
