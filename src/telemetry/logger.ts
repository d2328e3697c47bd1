import pino from "pino";
import { createDescriptorOutput, openLogFile, type LogFile } from "./log-output.ts";
import { escapeLines, escapeControls } from "./terminal-text.ts";

/** Messages are short constant sentences; what varies goes into snake_case fields. An error goes into `error`. */
export interface LogMethod {
  (fields: object, message: string): void;
  (message: string): void;
}

const LEVELS = ["fatal", "error", "warn", "info", "debug", "trace"] as const;
export type LogLevel = (typeof LEVELS)[number];

export interface Logger extends Record<LogLevel, LogMethod> {
  readonly level: LogLevel;
  isLevelEnabled(level: LogLevel): boolean;
  /** A logger that adds these fields to every line, usually `{ part: "deliver" }`. */
  child(fields: object): Logger;
  /** Writes waiting lines; also happens after `fatal` and when the process exits. */
  flush(): void;
  /** Flushes and closes the file. Lines logged afterwards still go to stdout. */
  close(): void;
}

export interface LogOutput {
  write(text: string): unknown;
  flushSync?(): void;
}

export interface LoggerOptions {
  level: LogLevel;
  file?: string | undefined;
  maxBytes: number;
  keep: number;
  /** For a terminal; the file is always JSON. */
  pretty: boolean;
  /** With `pretty`: levels are coloured. */
  hasColour?: boolean | undefined;
  stdout?: LogOutput | undefined;
}

const STDOUT = 1;

export function createLogger(options: LoggerOptions): Logger {
  const stdout = options.stdout ?? createDescriptorOutput(STDOUT);
  const isTerminal = options.stdout === undefined && process.stdout.isTTY;
  const writeStdout = (line: string): void => {
    stdout.write(options.pretty ? formatPrettyLine(line, options.hasColour) : isTerminal ? escapeLines(line) : line);
  };
  const file = options.file === undefined ? undefined : openFile(options.file, options, writeStdout);

  const flush = (): void => {
    file?.flush();
    stdout.flushSync?.();
  };
  const destination = {
    write(json: string): void {
      const line = redactText(json);
      writeStdout(line);
      file?.write(line);
    },
    flushSync: flush,
  };
  process.on("exit", flush);

  const root = pino(
    {
      level: options.level,
      base: null,
      errorKey: "error",
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: serializeError },
      formatters: { level: (label) => ({ level: label }), log: (fields) => redactFields(fields) },
    },
    destination,
  );
  return wrap(root, flush, () => {
    flush();
    file?.close();
    process.off("exit", flush);
  });
}

function wrap(inner: pino.Logger, flush: () => void, close: () => void): Logger {
  const methods = LEVELS.map((level) => [level, inner[level].bind(inner)] as const);
  return {
    ...(Object.fromEntries(methods) as Record<LogLevel, LogMethod>),
    level: inner.level as LogLevel,
    isLevelEnabled: (level) => inner.isLevelEnabled(level),
    child: (fields) => wrap(inner.child(redactFields(fields)), flush, close),
    flush,
    close,
  };
}

function openFile(path: string, options: LoggerOptions, writeStdout: (line: string) => void): LogFile {
  return openLogFile({
    path,
    maxBytes: options.maxBytes,
    keep: options.keep,
    onTrouble(error) {
      writeStdout(formatOwnLine("the log file cannot be written", { file: path, error_code: error.code }));
    },
    formatLoss: (lines) => formatOwnLine("log lines were lost", { lines }),
  });
}

function formatOwnLine(msg: string, fields: object): string {
  return `${JSON.stringify({ level: "warn", time: new Date().toISOString(), part: "log", ...fields, msg })}\n`;
}

/** Only properties that are known to be harmless: the others may contain secrets. */
function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === "object" && error !== null ? redactFields(error) : error;
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    stack: error.stack,
    ...(error.cause !== undefined && depth < 3 ? { cause: serializeError(error.cause, depth + 1) } : {}),
  };
}

/** ECMA-48 colours: red for errors, yellow for warnings. */
const COLOURS: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33 };

/** One log line for a terminal: `12:03:04.123 INFO  gateway listening  url=http://…`. */
function formatPrettyLine(json: string, hasColour = false): string {
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

const MASK = "***";

const SECRET_NAME =
  /^((proxy_)?authorization|auth|credentials|(set_)?cookie|password|passphrase|((access|refresh)_)?token|secrets?|(key|client)_secret|(x_)?api_key|apikey|(admin|master|private)_key)$/;

/** Values nested more deeply than this are left out. */
const MAX_DEPTH = 6;

const SECRET_TEXT = /whs(?:ec|k)_[A-Za-z0-9+/=_-]+|\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}|(?<=:\/\/)[^/?#@\s"]+@/gi;

function isSecretName(name: string): boolean {
  const snakeCase = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
  return SECRET_NAME.test(snakeCase);
}

/** Returns a copy without secrets; values of other classes (errors, dates) are left to the serializers. */
function redactFields(fields: object, depth = 0): Record<string, unknown> {
  const redacted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    redacted[name] = isSecretName(name) && value !== undefined && value !== null ? MASK : redactValue(value, depth + 1);
  }
  return redacted;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  const isPlain =
    Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
  if (!isPlain) return value;
  if (depth >= MAX_DEPTH) return "…";
  return Array.isArray(value) ? value.map((item) => redactValue(item, depth + 1)) : redactFields(value, depth);
}

/** The last safety net, for secrets inside other text such as an error's message. */
function redactText(text: string): string {
  return text.replace(SECRET_TEXT, (found: string, scheme?: string) => {
    if (scheme !== undefined) return `${scheme} ${MASK}`;
    return found.endsWith("@") ? `${MASK}@` : `${found.slice(0, found.indexOf("_") + 1)}${MASK}`;
  });
}
