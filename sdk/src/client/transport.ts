import { PosthornApiError, PosthornConnectionError, readApiError } from "./api-error.ts";
import type { PosthornOptions, RequestOptions } from "./options.ts";
import { type Backoff, readBackoff } from "./retry.ts";
import { type Deadline, startDeadline } from "./wait.ts";

export interface ApiRequest {
  method: string;
  /** With its query. */
  path: string;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Answers with these statuses are no errors. */
  expected?: readonly number[] | undefined;
  /** It may be sent again when nobody knows whether it was carried out. */
  isRepeatable: boolean;
}

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
}

/** Sends requests to one gateway. */
export interface Transport {
  send(request: ApiRequest, options?: RequestOptions): Promise<Answered>;
  /** Resolves when the answer begins; the caller reads its body and ends the deadline. */
  open(request: ApiRequest, options?: RequestOptions): Promise<Opened>;
  readonly backoff: Backoff;
}

export interface Opened {
  body: ReadableStream<Uint8Array>;
  /** Runs out where nothing comes for longer than this. */
  deadline: Deadline;
}

const DEFAULT_TIMEOUT_MS = 30_000;

export interface TransportOptions extends Pick<PosthornOptions, "timeoutMs" | "retry" | "headers" | "fetch"> {
  /** The address of the gateway, without a slash at its end. */
  base: string;
  /** What a page sets of each request, such as whether cookies go along. */
  init?: RequestInit;
}

/** Sends each request once. */
export function createTransport(given: TransportOptions): Transport {
  const { base, timeoutMs = DEFAULT_TIMEOUT_MS, fetch: ownFetch, init } = given;
  const fetchIt: typeof fetch = ownFetch ?? ((input, options) => fetch(input, options));

  async function begin(request: ApiRequest, options: RequestOptions, deadline: Deadline): Promise<Response> {
    const response = await fetchIt(base + request.path, {
      method: request.method,
      headers: {
        ...given.headers,
        ...request.headers,
        ...options.headers,
      },
      // The key is for this gateway, and for nobody that it may redirect to.
      redirect: "manual",
      signal: deadline.signal,
      ...(request.body !== undefined && { body: request.body }),
      ...init,
    });
    if (!response.ok && request.expected?.includes(response.status) !== true) throw await readApiError(response);
    return response;
  }

  /** What the runtime throws says little, and differs from runtime to runtime. */
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

  return {
    backoff: readBackoff(given.retry),
    send: (request, options = {}) =>
      attempt(request, options, async (deadline) => {
        const response = await begin(request, options, deadline);
        const text = await response.text();
        deadline.end();
        return { status: response.status, headers: response.headers, text };
      }),
    open: (request, options = {}) =>
      attempt(request, options, async (deadline) => {
        const { body } = await begin(request, options, deadline);
        deadline.extend();
        return { body: body ?? new ReadableStream({ start: (controller) => controller.close() }), deadline };
      }),
  };
}

/** Node says it in the cause only. */
function why(error: unknown): string {
  const { cause, message = "" } = error as { cause?: unknown; message?: string };
  return cause instanceof Error && cause.message !== "" ? cause.message : message;
}
