import { unexpectedAnswer } from "./api-error.ts";
import { createRandomId, type Payload, toBytes } from "../bytes.ts";
import { parseJson, writeJson } from "./json.ts";
import { readLines } from "./lines.ts";
import type { ChangeOptions, CreateOptions, RequestOptions, UploadOptions } from "./options.ts";
import { createPages, type Page, type Pages } from "./pages.ts";
import { type Query, withQuery } from "./path.ts";
import type { ApiRequest, Transport } from "./transport.ts";

/** What the generated methods are made of. */
export interface Call {
  /** Resolves to what was answered; to undefined where that is nothing. */
  json<Result>(method: string, pathname: string, parts?: Parts, options?: CallOptions): Promise<Result>;
  text(pathname: string, query: Query | undefined, options?: RequestOptions): Promise<string>;
  pages<Item, Whole extends Page<Item>>(
    pathname: string,
    query: Query | undefined,
    options?: RequestOptions,
  ): Pages<Item, Whole>;
  /** NDJSON: a value for each line. */
  lines<Line>(pathname: string, query: Query | undefined, options?: RequestOptions): AsyncIterable<Line>;
}

export type CallOptions = ChangeOptions & CreateOptions & UploadOptions;

export interface Parts {
  query?: Query | undefined;
  /** Written as JSON. */
  body?: unknown;
  /** Sent as it is. */
  bytes?: Payload;
  /** The gateway finds by an `Idempotency-Key` what it has done before. */
  isKeyed?: boolean;
}

const JSON_TYPE = "application/json";

export function createCall(transport: Transport): Call {
  async function json<Result>(
    method: string,
    pathname: string,
    parts: Parts = {},
    options: CallOptions = {},
  ): Promise<Result> {
    const { status, headers, text } = await transport.send(toRequest(method, pathname, parts, options), options);
    if (text === "") return undefined as Result;
    const answer = parseAnswer(status, text);
    recordEtag(answer, headers);
    return answer as Result;
  }

  return {
    json,
    text: async (pathname, query, options) =>
      (await transport.send({ method: "GET", path: withQuery(pathname, query), isRepeatable: true }, options)).text,
    pages: <Item, Whole extends Page<Item>>(pathname: string, query: Query | undefined, options?: RequestOptions) =>
      createPages<Item, Whole>((cursor) =>
        json<Whole>("GET", pathname, { query: cursor === undefined ? query : { ...query, cursor } }, options),
      ),
    lines: (pathname, query, options) =>
      readLines(() => transport.open({ method: "GET", path: withQuery(pathname, query), isRepeatable: true }, options)),
  };
}

function toRequest(method: string, pathname: string, parts: Parts, options: CallOptions): ApiRequest {
  const { query, body, bytes, isKeyed = false } = parts;
  const { ifMatch, contentType = JSON_TYPE } = options;
  const idempotencyKey = options.idempotencyKey ?? (isKeyed ? createRandomId() : undefined);
  const sent = bytes === undefined ? (body === undefined ? undefined : writeJson(body)) : toBytes(bytes);
  return {
    method,
    path: withQuery(pathname, query),
    body: sent,
    headers: {
      accept: JSON_TYPE,
      ...(sent !== undefined && { "content-type": contentType }),
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    },
    // A DELETE that is repeated gets 404, and a change of a version 412: both would look like failures.
    isRepeatable: method === "GET" || idempotencyKey !== undefined || (method === "PUT" && ifMatch === undefined),
  };
}

export function parseAnswer(status: number, text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw unexpectedAnswer(status, `The answer is not JSON: ${text.slice(0, 100)}`);
  }
}

const etags = new WeakMap<object, string>();

function recordEtag(answer: unknown, headers: Headers): void {
  const etag = headers.get("etag");
  if (etag !== null && typeof answer === "object" && answer !== null) etags.set(answer, etag);
}

/** Which version an answer of the client shows, for `ifMatch`. Undefined for what has none, and for copies. */
export function etagOf(answer: object): string | undefined {
  return etags.get(answer);
}
