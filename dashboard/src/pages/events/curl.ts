import type { EventWithDeliveries } from "../../api/types.ts";
import type { Body } from "../../ui/body-card.tsx";
import { readBody } from "./body.ts";

/** What curl sets itself, and what only the first sender's connection meant. */
const OWN =
  /^(?:host|content-length|connection|accept-encoding|transfer-encoding|expect|user-agent|traceparent|tracestate)$/i;
/** How the gateway shows that it does not show something. */
const MASKED = /\*\*\*/;

/** A command that sends the same once more. */
export function toCurl(event: EventWithDeliveries, payloadText: string | undefined, origin: string): string {
  const { request } = event;
  const body = readBody(event, payloadText);
  if (request === undefined) {
    const published = `{"event_type":${JSON.stringify(event.event_type)},"payload":${payloadText ?? "{}"}}`;
    return command(
      `${origin}/api/v1/events`,
      [`-H "authorization: Bearer $POSTHORN_API_KEY"`, header("content-type", "application/json")],
      published,
    );
  }
  return requestToCurl({ ...request, headers: event.headers ?? {} }, body, origin);
}

interface SentRequest {
  method: string;
  path: string;
  query: string;
  headers: Readonly<Record<string, unknown>>;
}

export function requestToCurl(request: SentRequest, body: Body, origin: string): string {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    OWN.test(name) || MASKED.test(String(value)) ? [] : [value].flat().map((one) => header(name, String(one))),
  );
  const url = `${origin}${request.path}${request.query === "" ? "" : `?${request.query}`}`;
  const method = request.method === "POST" ? [] : [`-X ${request.method}`];
  return command(url, [...method, ...headers], body.kind === "none" ? undefined : body.text);
}

function command(url: string, options: readonly string[], body: string | undefined): string {
  const parts = [`curl ${quote(url)}`, ...options, ...(body === undefined ? [] : [`--data-binary ${quote(body)}`])];
  return parts.join(" \\\n  ");
}

function header(name: string, value: string): string {
  return `-H ${quote(`${name}: ${value}`)}`;
}

/** For POSIX shells: within single quotes nothing means anything. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
