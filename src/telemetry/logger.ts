import pino from "pino";
import { createDescriptorOutput } from "./descriptor-output.ts";
import { openLogFile, type LogFile } from "./log-file.ts";
import { formatPrettyLine } from "./pretty-line.ts";
import { escapeLines } from "./terminal-text.ts";
import { redactFields, redactText } from "./redact.ts";

/** Messages are short constant sentences; what varies goes into snake_case fields. An error goes into `error`. */
export interface LogMethod {
  (fields: object, message: string): void;
  (message: string): void;
}

export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

export interface Logger {
  readonly level: LogLevel;
  fatal: LogMethod;
  error: LogMethod;
  warn: LogMethod;
  info: LogMethod;
  debug: LogMethod;
  trace: LogMethod;
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
  /** A file beside stdout. */
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
  return {
    level: inner.level as LogLevel,
    fatal: inner.fatal.bind(inner),
    error: inner.error.bind(inner),
    warn: inner.warn.bind(inner),
    info: inner.info.bind(inner),
    debug: inner.debug.bind(inner),
    trace: inner.trace.bind(inner),
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
