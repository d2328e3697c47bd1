import { isAscii } from "node:buffer";
import type { MaybePromise } from "../../model/accepted.ts";
import { addressGroupOf } from "../../model/addresses.ts";
import { bomLength, scalarTextAt } from "../../model/json.ts";
import type { Source } from "../../model/source.ts";
import { createThreadLines, Overdue, unavailable } from "../threads/thread-lines.ts";
import { checkJsonText, faultAt, unreadableBody } from "./json-text.ts";

export interface BodySender {
  readonly source: Pick<Source, "name" | "declared">;
  readonly remoteAddress: string;
}

export interface BodyCall {
  body: Uint8Array;
  format: "json" | "xml";
  charset: string | undefined;
  maxDepth: number;
  pointers: readonly (readonly string[])[];
}

/** Facts about a well-formed body, which the thread sends back, too. */
export interface WellFormed {
  readonly kind: "json" | "xml" | "other";
  /** The scalars at the requested pointers, in their order; none if the body is not JSON. */
  readonly texts: readonly (string | undefined)[];
}

const OTHER: WellFormed = { kind: "other", texts: [] };
/** Checking this much takes 3 ms at most; nearly all webhooks are smaller. */
const MAX_ON_LOOP_BYTES = 128 * 1024;
/** One or two seconds of work for the worst input. */
const MAX_SENDER_BYTES = 16 * 1024 * 1024;
/** Room for several of the largest bodies of providers, which may not retry. */
const LARGE = { maxSenderBytes: 96 * 1024 * 1024, maxWaitingBytes: 192 * 1024 * 1024 };
/** Several times what the worst body takes. */
const BASE_DEADLINE_MS = 2000;
const DEADLINE_MS_PER_BYTE = 1 / 1024;
/** Of a thread's own heap; the largest body and its parts take a fraction. */
const MAX_HEAP_MB = 1024;
/** All names that are not declared share a line: a sender may make up any number of them. */
const UNDECLARED = "*";
/** For bodies that no source received. */
const NOBODY: BodySender = { source: { name: "", declared: true }, remoteAddress: "" };
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./body-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export type BodyChecker = ReturnType<typeof createBodyChecker>;

/**
 * Checks a body that is JSON or XML by its content type, or by its first bytes without one; other types are accepted as
 * they are. XML and large JSON are checked in a thread: 2 MB of tiny tags take 300 ms, of brackets 100 ms; the event
 * loop would answer nobody meanwhile. Sources take turns there, and so do the addresses that send to one. For tests
 * only, `maxOnLoopBytes` changes what is large.
 */
export function createBodyChecker(options: { maxDepth: number; maxOnLoopBytes?: number }) {
  const { maxDepth, maxOnLoopBytes = MAX_ON_LOOP_BYTES } = options;
  const threads = { maxThreads: 2, thread: THREAD, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } };
  const apart = createThreadLines<BodyCall, WellFormed>({
    ...threads,
    keepFirst: true,
    maxSenderBytes: MAX_SENDER_BYTES,
  });
  // Few kinds send megabytes, most of them once and signed, so others do not wait behind them.
  const largeApart = createThreadLines<BodyCall, WellFormed>({ ...threads, ...LARGE });

  async function checkApart(
    call: BodyCall & { body: Buffer },
    { source, remoteAddress }: BodySender,
  ): Promise<WellFormed> {
    const { length } = call.body;
    const line = source.declared ? source.name : UNDECLARED;
    const isLarge = isForTurns(call.body);
    const sent = isLarge ? { ...call, body: await shareInTurns(call.body) } : call;
    const deadlineMs = BASE_DEADLINE_MS + length * DEADLINE_MS_PER_BYTE;
    const lines = isLarge ? largeApart : apart;
    try {
      return await lines.run(line, length, (send) => send(sent, deadlineMs), addressGroupOf(remoteAddress));
    } catch (error) {
      if (!(error instanceof Overdue)) throw error;
      throw unavailable("The check of the body took too long.");
    }
  }

  return {
    /** Throws or rejects with `unreadable_body`, or with `overloaded` when too much is already waiting. */
    check(
      body: Buffer,
      contentType: string | undefined,
      pointers: readonly (readonly string[])[],
      from = NOBODY,
    ): MaybePromise<WellFormed> {
      const { format, charset } = findBodyKind(body, contentType);
      if (format === "other") return OTHER;
      if (format === "json" && body.length <= maxOnLoopBytes) return checkJsonBody(body, charset, maxDepth, pointers);
      return checkApart({ body, format, charset, maxDepth, pointers }, from);
    },
    async close(): Promise<void> {
      await Promise.all([apart.close(), largeApart.close()]);
    },
  };
}

/** Bodies are copied to the thread; copying 25 MB at once would block the event loop for too long. */
async function shareInTurns(body: Buffer): Promise<Uint8Array> {
  const copy = new Uint8Array(new SharedArrayBuffer(body.length));
  await readInTurns(body, (part, at) => copy.set(part, at));
  return copy;
}

export function checkJsonBody(
  body: Buffer,
  charset: string | undefined,
  maxDepth: number,
  pointers: readonly (readonly string[])[],
): WellFormed {
  if (charset !== undefined) checkJsonCharset(body, charset);
  checkJsonText(body, maxDepth);
  return { kind: "json", texts: pointers.map((pointer) => scalarTextAt(body, pointer)) };
}

/** JSON is UTF-8, whatever the charset says; a wrong charset does no harm if all bytes are ASCII. */
function checkJsonCharset(body: Buffer, charset: string): void {
  if (/^(utf-?8|us-ascii|ascii)$/.test(charset) || isAscii(body)) return;
  const position = body.findIndex((byte) => byte >= 0x80);
  throw unreadableBody("JSON", faultAt(body, position, `text in the charset "${charset}" where UTF-8 is expected`));
}

interface BodyKind {
  format: WellFormed["kind"];
  charset: string | undefined;
}

const JSON_KIND: BodyKind = { format: "json", charset: undefined };
const OTHER_KIND: BodyKind = { format: "other", charset: undefined };
const XML_KIND: BodyKind = { format: "xml", charset: undefined };

/** The format of a body by its content type or, without one, by its first bytes. */
export function findBodyKind(body: Uint8Array, contentType: string | undefined): BodyKind {
  if (contentType === "application/json") return JSON_KIND;
  if (contentType === undefined || contentType.trim() === "") return sniff(body);
  const [essence = "", ...parameters] = contentType.toLowerCase().split(";");
  const format = formatOf(essence.trim());
  return format === "other" ? OTHER_KIND : { format, charset: charsetOf(parameters) };
}

function formatOf(essence: string): BodyKind["format"] {
  if (essence.endsWith("/json") || essence.endsWith("+json")) return "json";
  return essence.endsWith("/xml") || essence.endsWith("+xml") ? "xml" : "other";
}

function charsetOf(parameters: readonly string[]): string | undefined {
  for (const parameter of parameters) {
    const match = /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(parameter);
    if (match) return match[1];
  }
  return undefined;
}

function sniff(body: Uint8Array): BodyKind {
  let at = bomLength(body);
  while (isSpace(body[at])) at++;
  if (body[at] === 0x7b || body[at] === 0x5b) return JSON_KIND;
  return body[at] === 0x3c || isUtf16Markup(body) ? XML_KIND : OTHER_KIND;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** `<` as the first character of UTF-16, after a BOM or without one. JSON has no other encoding than UTF-8. */
function isUtf16Markup(body: Uint8Array): boolean {
  const [first, second] = body;
  const at = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) ? 2 : 0;
  const littleEndian = body[at] === 0x3c && body[at + 1] === 0 && body[at + 3] === 0;
  return littleEndian || (body[at] === 0 && body[at + 1] === 0x3c && body[at + 2] === 0);
}

/** Copying or hashing this much takes two or three milliseconds. */
const STEP_BYTES = 1024 * 1024;

export function isForTurns(body: Uint8Array): boolean {
  return body.length > 2 * STEP_BYTES;
}

/** Passes on a large body in parts, so that the event loop can do other work in between. */
export async function readInTurns(body: Buffer, read: (part: Buffer, at: number) => void): Promise<void> {
  for (let at = 0; at < body.length; at += STEP_BYTES) {
    if (at > 0) await new Promise(setImmediate);
    read(body.subarray(at, at + STEP_BYTES), at);
  }
}
