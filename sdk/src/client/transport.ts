import { PosthornApiError, PosthornConnectionError, readApiError } from "./api-error.ts";
import type { PosthornOptions, RequestOptions } from "./options.ts";
import { type Backoff, delayBefore, isWorthRetrying, readBackoff } from "./retry.ts";
import { type Deadline, startDeadline, wait } from "./wait.ts";

export interface ApiRequest {
  method: string;
  /** With its query. */
  path: string;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** It may be sent again when nobody knows whether it was carried out. */
  isRepeatable: boolean;
}

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
}

/** Sends requests to one gateway, each as often as it takes and as is allowed. */
export interface Transport {
  send(request: ApiRequest, options?: RequestOptions): Promise<Answered>;
  /** Resolves when the answer begins; its body is read, and the deadline ended, by whoever asked. */
  open(request: ApiRequest, options?: RequestOptions): Promise<Opened>;
  readonly backoff: Backoff;
}

export interface Opened {
  body: ReadableStream<Uint8Array>;
  /** Runs out where nothing comes for longer than this. */
  deadline: Deadline;
}

const DEFAULT_TIMEOUT_MS = 30_000;

export function createTransport(given: PosthornOptions): Transport {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, fetch: ownFetch } = given;
  const key = readKey(given.key);
  const base = readBase(given.url);
  const backoff = readBackoff(given.retry);
  const fetchIt: typeof fetch = ownFetch ?? ((input, init) => fetch(input, init));

  async function begin(request: ApiRequest, options: RequestOptions, deadline: Deadline): Promise<Response> {
    const response = await fetchIt(base + request.path, {
      method: request.method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...given.headers,
        ...request.headers,
        ...options.headers,
      },
      // The key is for this gateway, and for nobody that it may redirect to.
      redirect: "manual",
      signal: deadline.signal,
      ...(request.body !== undefined && { body: request.body }),
    });
    if (!response.ok) throw await readApiError(response);
    return response;
  }

  /** One try. What the runtime throws says little, and differs from runtime to runtime. */
  async function attempt<Result>(
    request: ApiRequest,
    options: RequestOptions,
    run: (deadline: Deadline) => Promise<Result>,
  ): Promise<Result> {
    const deadline = startDeadline(options.timeoutMs ?? timeoutMs, options.signal);
    try {
      return await run(deadline);
    } catch (error) {
      deadline.end();
      options.signal?.throwIfAborted();
      if (deadline.isOver) {
        const message = `${request.method} ${request.path} was not answered within ${options.timeoutMs ?? timeoutMs} ms.`;
        throw new PosthornConnectionError("timeout", message);
      }
      if (error instanceof PosthornApiError) throw error;
      throw new PosthornConnectionError(
        "unreachable",
        `The gateway at ${base} cannot be reached. ${why(error)}`,
        error,
      );
    }
  }

  async function repeat<Result>(
    request: ApiRequest,
    options: RequestOptions,
    run: (deadline: Deadline) => Promise<Result>,
  ): Promise<Result> {
    const retries = options.retries ?? backoff.retries;
    for (let retry = 0; ; retry++) {
      try {
        return await attempt(request, options, run);
      } catch (error) {
        const isOver = retry >= retries || !isWorthRetrying(error, request.isRepeatable);
        const delayMs = isOver ? undefined : delayBefore(retry, error, backoff);
        if (delayMs === undefined) throw error;
        await wait(delayMs, options.signal);
      }
    }
  }

  return {
    backoff,
    send: (request, options = {}) =>
      repeat(request, options, async (deadline) => {
        const response = await begin(request, options, deadline);
        const text = await response.text();
        deadline.end();
        return { status: response.status, headers: response.headers, text };
      }),
    open: (request, options = {}) =>
      repeat(request, options, async (deadline) => {
        const { body } = await begin(request, options, deadline);
        deadline.extend();
        return { body: body ?? new ReadableStream({ start: (controller) => controller.close() }), deadline };
      }),
  };
}

/** Without a slash at its end; it may have a path of its own. */
function readBase(url: string | URL): string {
  const { protocol, origin, pathname, username } = parseUrl(url);
  if (!/^https?:$/.test(protocol)) throw noAddress(url);
  if (username !== "") throw new TypeError("The address of a gateway has no user name. Give its key as `key`.");
  return origin + pathname.replace(/\/+$/, "");
}

function parseUrl(url: string | URL): URL {
  try {
    return new URL(url);
  } catch {
    throw noAddress(url);
  }
}

function noAddress(url: string | URL): TypeError {
  return new TypeError(`url is ${String(url)}. Give the address of the gateway, such as https://hooks.example.com.`);
}

/** What a header cannot hold would look like a gateway that does not answer. */
function readKey(key: string | undefined): string | undefined {
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return key;
  const what = key === "" ? "is empty" : "has spaces, line ends or other characters that no key has";
  throw new TypeError(`key ${what}. Is the variable that holds it set, and nothing behind it?`);
}

/** Node says it in the cause only. */
function why(error: unknown): string {
  const { cause, message = "" } = error as { cause?: unknown; message?: string };
  return cause instanceof Error && cause.message !== "" ? cause.message : message;
}
