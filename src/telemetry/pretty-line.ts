import { escapeControls } from "./terminal-text.ts";

/** ECMA-48 colours: red for errors, yellow for warnings. */
const COLOURS: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33 };

/** One log line for a terminal: `12:03:04.123 INFO  gateway listening  url=http://…`. */
export function formatPrettyLine(json: string, hasColour = false): string {
  const { time, level, msg, error, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const name = escapeControls(String(level).toUpperCase().padEnd(5));
  const colour = hasColour ? COLOURS[String(level)] : undefined;
  const shown = colour === undefined ? name : `\u001b[${colour}m${name}\u001b[39m`;
  const head = `${formatTime(time)} ${shown} ${escapeControls(String(msg ?? ""))}`;
  const facts = Object.entries(fields).map(([name, value]) => `${escapeControls(name)}=${formatFact(value)}`);
  return `${[head, ...facts, ...formatError(error)].join("  ")}\n`;
}

function formatTime(time: unknown): string {
  const date = new Date(String(time));
  const pad = (value: number, width = 2): string => String(value).padStart(width, "0");
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((value) => pad(value)).join(":");
  return `${clock}.${pad(date.getMilliseconds(), 3)}`;
}

function formatFact(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return escapeControls(value);
  return escapeControls(JSON.stringify(value));
}

function formatError(error: unknown): string[] {
  if (error === undefined) return [];
  const { message, stack } = error as { message?: unknown; stack?: unknown };
  const facts = [`error=${formatFact(message ?? error)}`];
  if (typeof stack === "string") {
    const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
    facts.push(...frames.map((frame) => `\n    ${escapeControls(frame.trim())}`));
  }
  return facts;
}
