import type { EventWithDeliveries } from "../../api/types.ts";
import type { Body } from "../../ui/body-card.tsx";
import { readBody } from "../../deliveries/event-body.ts";

/** What curl sets for each connection, and what only the first sender's connection meant. */
const OWN = /^(?:host|content-length|connection|accept-encoding|transfer-encoding|expect|traceparent|tracestate)$/i;
/** What curl adds by itself, where the first sender had none. */
const ADDED = ["accept", "user-agent"];
/** How the gateway shows that it does not show something. */
const MASKED = /\*\*\*/;
/** Terminals do not paste these as they are: one may end the paste, and the rest would be run. */
const UNPASTABLE = /[^\P{Cc}\n\t]/u;
/** Systems limit how long one argument is; Linux to 128 KiB. */
const MAX_ARGUMENT_BYTES = 100_000;

/** A command that sends the same once more. */
export function toCurl(event: EventWithDeliveries, payloadText: string | undefined, origin: string): string {
  const { request } = event;
  if (request !== undefined) {
    return requestToCurl({ ...request, headers: event.headers ?? {} }, readBody(event, payloadText), origin);
  }
  const text = `{"event_type":${JSON.stringify(event.event_type)},"payload":${payloadText ?? "{}"}}`;
  const body: Body = { kind: "json", text, bytes: new TextEncoder().encode(text) };
  const headers = [`-H "authorization: Bearer $POSTHORN_API_KEY"`, header("content-type", "application/json")];
  return command(`${origin}/api/v1/events`, "POST", headers, body);
}

interface SentRequest {
  method: string;
  path: string;
  query: string;
  headers: Readonly<Record<string, unknown>>;
}

export function requestToCurl(request: SentRequest, body: Body, origin: string): string {
  const given = Object.entries(request.headers).flatMap(([name, value]) =>
    OWN.test(name) || MASKED.test(String(value)) ? [] : [value].flat().map((one) => header(name, String(one))),
  );
  const added = body.kind === "none" ? ADDED : [...ADDED, "content-type"];
  const removed = added.filter((name) => !(name in request.headers)).map((name) => `-H '${name}:'`);
  const url = `${origin}${request.path}${request.query === "" ? "" : `?${request.query}`}`;
  return command(url, request.method, [...given, ...removed], body);
}

function command(url: string, method: string, headers: readonly string[], body: Body): string {
  const { input, option } = bodyParts(body);
  // Brackets and braces would be a list of addresses, and `..` would be resolved.
  const literally = [/[[\]{}]/.test(url) ? " -g" : "", /\/\.\.?(?:[/?]|$)/.test(url) ? " --path-as-is" : ""].join("");
  const parts = [`${input}curl${literally} ${quote(url)}`, ...methodParts(method, body), ...headers, ...option];
  return parts.join(" \\\n  ");
}

function methodParts(method: string, { kind }: Body): readonly string[] {
  if (method === (kind === "none" ? "GET" : "POST")) return [];
  return [method === "HEAD" ? "--head" : `-X ${method}`];
}

/** As an argument where it can be one; `--data-binary` would take a body that begins with `@` for the name of a file. */
function bodyParts({ kind, text, bytes }: Body): { input: string; option: readonly string[] } {
  if (kind === "none") return { input: "", option: [] };
  if (kind === "binary" || UNPASTABLE.test(text)) {
    const base64 = kind === "binary" ? text : toBase64(bytes);
    return { input: `printf %s ${quote(base64)} | base64 -d | `, option: ["--data-binary @-"] };
  }
  if (bytes.length <= MAX_ARGUMENT_BYTES) return { input: "", option: [`--data-raw ${quote(text)}`] };
  return { input: `printf %s ${quote(text)} | `, option: ["--data-binary @-"] };
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** A semicolon says that the value is empty; with a colon curl would leave the header out. */
function header(name: string, value: string): string {
  if (value === "") return `-H ${quote(`${name};`)}`;
  const line = `${name}: ${value}`;
  if (/^[\x20-\x7e]*$/.test(line)) return `-H ${quote(line)}`;
  // The bytes of a header are no UTF-8, as which a shell would write them.
  const escaped = line.replaceAll("\\", String.raw`\\`).replaceAll(/[^\x20-\x7e]/g, octal);
  return `-H "$(printf %b ${quote(escaped)})"`;
}

function octal(sign: string): string {
  return String.raw`\0` + sign.charCodeAt(0).toString(8).padStart(3, "0");
}

/** For POSIX shells: within single quotes nothing means anything. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
