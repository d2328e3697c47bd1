import { PosthornApiError, PosthornConnectionError } from "../../../sdk/src/client/api-error.ts";
import { withQuery } from "../../../sdk/src/client/path.ts";
import { type Answered, createTransport } from "../../../sdk/src/client/transport.ts";
import { findPortalToken, isPortal } from "../session/portal-token.ts";
import { recordReachable } from "./reachability.ts";

export interface PayloadError {
  /** A JSON Pointer. */
  path: string;
  message: string;
}

/** What this page reads of a problem (RFC 9457). */
type Complaint = Pick<ApiError, "status" | "code"> & Partial<Pick<ApiError, "field" | "count" | "errors">>;

/** What the gateway said no with, or that it could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** The one at fault, by its name on the wire. */
  readonly field: string | undefined;
  /** How many there are, where that must be confirmed. */
  readonly count: number | undefined;
  /** All that is wrong with a payload, where that is what is wrong. */
  readonly errors: readonly PayloadError[];

  constructor({ status, code, field, count, errors = [] }: Complaint, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
    this.field = field;
    this.count = count;
    this.errors = errors;
  }

  get isSignedOut(): boolean {
    return this.status === 401;
  }

  /** Somebody else changed it since it was read. */
  get isOutdated(): boolean {
    return this.status === 412;
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  query?: Query | undefined;
  body?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
}

/** A reader leaves a page that takes too long. */
const TIMEOUT_MS = 600_000;
const token = findPortalToken();

/** Sends each request once: queries ask again by themselves, and the page says that the gateway is away. */
export const transport = createTransport({
  base: location.origin,
  headers: token === undefined ? undefined : { authorization: `Bearer ${token}` },
  timeoutMs: TIMEOUT_MS,
  retry: { minDelayMs: 500, maxDelayMs: 10_000 },
  init: { credentials: isPortal ? "omit" : "same-origin", redirect: "follow" },
});

/** Rejects with an `ApiError` unless the answer is 2xx. A string is sent as it is, as JSON unless the headers say otherwise. */
export async function request(method: string, path: string, options: RequestOptions = {}): Promise<Answered> {
  const { query = {}, body, signal } = options;
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
  const sent = {
    method,
    path: withQuery(path, given),
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...options.headers },
    isRepeatable: false,
  };
  const answer = await transport.send(sent, { signal }).catch((error: unknown) => {
    throw explain(error);
  });
  recordReachable(true);
  return answer;
}

/** What the transport throws, as this page shows it; anything else, such as the end of a page that was left, stays. */
export function explain(error: unknown): unknown {
  if (!(error instanceof PosthornApiError || error instanceof PosthornConnectionError)) return error;
  const explained = toApiError(error);
  recordReachable(!explained.isUnreachable);
  return explained;
}

function toApiError(error: PosthornApiError | PosthornConnectionError): ApiError {
  const { code } = error;
  const status = error instanceof PosthornApiError ? error.status : 0;
  // By a proxy in front of the gateway, which itself always gives a code.
  if (status === 0 || (code === "unexpected_answer" && [502, 503, 504].includes(status))) {
    return new ApiError({ status: 0, code: "unreachable" }, "The gateway cannot be reached.");
  }
  if (code === "unexpected_answer") return new ApiError({ status, code: "unknown" }, `The gateway answered ${status}.`);
  const { problem, detail } = error as PosthornApiError;
  return new ApiError(problem, detail);
}

export async function getJson<Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> {
  return JSON.parse((await request("GET", path, { query, signal })).text) as Answer;
}

/** What can be changed, with the version that it was read in. */
export interface Versioned<Thing> {
  thing: Thing;
  etag: string | undefined;
}

export async function getVersioned<Thing>(
  path: string,
  query?: Query,
  signal?: AbortSignal,
): Promise<Versioned<Thing>> {
  const { text, headers } = await request("GET", path, { query, signal });
  return { thing: JSON.parse(text) as Thing, etag: headers.get("etag") ?? undefined };
}

/** `etag`: only if it is still this version; else the `ApiError` says so with `isOutdated`. */
export async function sendJson<Answer>(method: string, path: string, body?: unknown, etag?: string): Promise<Answer> {
  const { text } = await request(method, path, {
    body,
    headers: etag === undefined ? undefined : { "if-match": etag },
  });
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}
