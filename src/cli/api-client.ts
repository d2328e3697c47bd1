import { explainAnswer, explainNoGateway, explainUnreachable } from "./explain-answer.ts";
import { TransientFailure } from "./failure.ts";

/** Talks only to our own gateway. The operator gave its address, so the address guard is not used here. */
export interface ApiClient {
  readonly url: string;
  /** Throws the gateway's answer as a failure, unless it is a success or its status is in `expected`. */
  send(method: string, path: string, parts?: RequestParts): Promise<ApiAnswer>;
  get(path: string, query?: Query, expected?: readonly number[]): Promise<ApiAnswer>;
  /** A streamed answer. Throws a `TransientFailure` when a retry may succeed. */
  openStream(path: string, parts: StreamParts): Promise<AsyncIterable<Uint8Array>>;
  post(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<ApiAnswer>;
}

interface RequestParts {
  query?: Query | undefined;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  headers?: Record<string, string> | undefined;
  expected?: readonly number[] | undefined;
}

interface StreamParts {
  query: Query;
  headers: Record<string, string>;
  signal: AbortSignal;
}

/** A list is sent as several values of the same name. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface ApiAnswer {
  status: number;
  /** The unparsed answer: only the text keeps numbers beyond 2^53 exact. */
  text: string;
  /** The gateway's clock. */
  date: string | undefined;
  /** The version of the resource, if it has one. */
  etag: string | undefined;
}

const TIMEOUT_MS = 30_000;
const VERSION_TIMEOUT_MS = 3000;

export function createApiClient(url: string, key: string | undefined): ApiClient {
  const gateway = { url, hasKey: key !== undefined, findVersion: () => findVersion(url) };
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };

  async function openStream(path: string, parts: StreamParts): Promise<AsyncIterable<Uint8Array>> {
    const { query, headers, signal } = parts;
    let response: Response;
    try {
      response = await fetch(url + path + writeQuery(query), {
        headers: { ...headers, ...authorization },
        redirect: "manual",
        signal,
      });
    } catch (error) {
      throw new TransientFailure(explainUnreachable(url, error).message);
    }
    if (response.ok && response.body !== null) return response.body;
    const failure = await explainAnswer(gateway, response.status, await response.text());
    throw response.status === 429 || response.status >= 500 ? new TransientFailure(failure.message) : failure;
  }

  async function send(method: string, path: string, parts: RequestParts = {}): Promise<ApiAnswer> {
    const { query = {}, body, headers = {}, expected = [] } = parts;
    let response: Response;
    let text: string;
    try {
      response = await fetch(url + path + writeQuery(query), {
        method,
        ...(body !== undefined && { body }),
        headers: { ...headers, ...authorization },
        // A gateway never redirects, and the target of a redirect must not get the key.
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      throw explainUnreachable(url, error);
    }
    if (!response.ok && !expected.includes(response.status)) throw await explainAnswer(gateway, response.status, text);
    const { headers: answered } = response;
    return {
      status: response.status,
      text,
      date: answered.get("date") ?? undefined,
      etag: answered.get("etag") ?? undefined,
    };
  }

  return {
    url,
    send,
    openStream,
    get: (path, query, expected) => send("GET", path, { query, expected }),
    post: (path, body, headers) => send("POST", path, { body, headers }),
  };
}

function writeQuery(query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}=${encodeURIComponent(String(one))}`),
  );
  return given.length === 0 ? "" : `?${given.join("&")}`;
}

export function readAnswer(client: Pick<ApiClient, "url">, answer: Pick<ApiAnswer, "text">): unknown {
  try {
    return JSON.parse(answer.text) as unknown;
  } catch {
    throw explainNoGateway(client.url);
  }
}

/** The version that an open route reports; undefined when there is none. */
export async function findVersion(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/readyz`, {
      redirect: "manual",
      signal: AbortSignal.timeout(VERSION_TIMEOUT_MS),
    });
    const { version } = (await response.json()) as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}
