import { findPortalToken, isPortal } from "../session/portal-token.ts";
import { noteReachable } from "./reachability.ts";

/** What this page reads of a problem (RFC 9457). */
interface Complaint {
  status: number;
  code: string;
  detail: string;
  field?: string | undefined;
  /** Of `confirmation_required`. */
  count?: number | undefined;
  /** All that is wrong with a payload. */
  errors?: readonly PayloadError[] | undefined;
}

export interface PayloadError {
  /** A JSON Pointer. */
  path: string;
  message: string;
}

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

  constructor({ status, code, detail, field, count, errors = [] }: Complaint) {
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

function pathWith(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

/** Rejects with an `ApiError` unless the answer is 2xx. A string is sent as it is, as JSON unless the headers say otherwise. */
export async function request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const { query, body, signal } = options;
  const token = findPortalToken();
  const headers = new Headers(options.headers);
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const response = await fetch(pathWith(path, query), {
    method,
    headers,
    credentials: isPortal ? "omit" : "same-origin",
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    noteReachable(false);
    throw unreachable();
  });
  const error = response.ok ? undefined : await readError(response);
  noteReachable(error?.isUnreachable !== true);
  if (error !== undefined) throw error;
  return response;
}

export async function getJson<Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> {
  return (await request("GET", path, { query, signal })).json() as Promise<Answer>;
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
  const response = await request("GET", path, { query, signal });
  return { thing: (await response.json()) as Thing, etag: response.headers.get("etag") ?? undefined };
}

/** `etag`: only if it is still this version; else the `ApiError` says so with `isOutdated`. */
export async function sendJson<Answer>(method: string, path: string, body?: unknown, etag?: string): Promise<Answer> {
  const response = await request(method, path, {
    body,
    headers: etag === undefined ? undefined : { "if-match": etag },
  });
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

async function readError(response: Response): Promise<ApiError> {
  const { status, statusText } = response;
  const problem = (await response.json().catch(() => ({}))) as Partial<Complaint>;
  // By a proxy in front of the gateway, which itself always gives a code.
  if (problem.code === undefined && [502, 503, 504].includes(status)) return unreachable();
  const { code = "unknown", detail = `The gateway answered ${status} ${statusText}.` } = problem;
  return new ApiError({ ...problem, status, code, detail });
}

function unreachable(): ApiError {
  return new ApiError({ status: 0, code: "unreachable", detail: "The gateway cannot be reached." });
}
