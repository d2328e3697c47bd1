import { readFileSync } from "node:fs";
import { usageFailure } from "./failure.ts";
import { readObject } from "./read-document.ts";
import { readCount } from "./read-number.ts";

/** Flags for what a source is set to; everything else goes by `--file`. */
export interface SourceFlags {
  file?: string;
  kind?: string;
  secretFile?: string[];
  authHeader?: string;
  authTokenFile?: string;
  allowedIp?: string[];
  maxBytes?: string;
  method?: string[];
  contentType?: string[];
  answerWithin?: string;
  eventType?: string;
  idFrom?: string;
  orderingKeyFrom?: string;
  priorityFrom?: string;
  only?: string[];
  option?: string[];
  pathToken?: boolean;
}

/** What the file says, and over it what the flags say. */
export function readSourceInput(flags: SourceFlags): Record<string, unknown> {
  const given: Record<string, unknown> = {
    kind: flags.kind,
    secrets: flags.secretFile?.map(readSecretFile),
    auth: readAuth(flags),
    allowed_ips: readList(flags.allowedIp),
    max_bytes:
      flags.maxBytes === undefined ? undefined : readCount("--max-bytes", flags.maxBytes, { min: 1, max: 2 ** 40 }),
    methods: flags.method,
    content_types: readList(flags.contentType),
    answer_within: readSeconds(flags.answerWithin),
    event_type: readText(flags.eventType),
    id_from: readText(flags.idFrom),
    ordering_key_from: readText(flags.orderingKeyFrom),
    priority_from: readText(flags.priorityFrom),
    only: readList(flags.only),
    options: readOptions(flags.option),
    path_token: flags.pathToken,
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...(flags.file === undefined ? {} : readObject(flags.file)), ...Object.fromEntries(set) };
}

/** Never from the command line itself, where other users of the machine could read it. */
export function readSecretFile(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8").trim();
  } catch (error) {
    throw usageFailure(`Cannot read ${path} (${(error as NodeJS.ErrnoException).code}).`);
  }
}

function readAuth({ authHeader: header, authTokenFile: file }: SourceFlags): object | null | undefined {
  if (header === "none") return null;
  if (header === undefined && file === undefined) return undefined;
  if (header === undefined || file === undefined) {
    throw usageFailure("--auth-header and --auth-token-file belong together.");
  }
  return { header, token: readSecretFile(file) };
}

function readList(values: readonly string[] | undefined): readonly string[] | null | undefined {
  return values?.length === 1 && values[0] === "none" ? null : values;
}

function readText(text: string | undefined): string | null | undefined {
  return text === "none" ? null : text;
}

function readSeconds(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === "none") return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw usageFailure(`--answer-within: "${text}" is no number of seconds.`);
}

/** A value that is JSON, such as a number or a list, is taken as that; else it is a text. */
function readOptions(pairs: readonly string[] | undefined): Record<string, unknown> | undefined {
  if (pairs === undefined) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      // The value may be a secret: only the name is repeated.
      if (at < 1) throw usageFailure("--option: one of them has no name and value.");
      return [pair.slice(0, at), parseValue(pair.slice(at + 1))];
    }),
  );
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
