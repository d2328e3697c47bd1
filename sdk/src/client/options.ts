export interface PosthornOptions {
  /** Where the gateway is: `https://hooks.example.com`. */
  url: string | URL;
  /** One of its keys. Without it only what is open to everybody can be asked for. */
  key?: string | undefined;
  /** How long one try of a request may take: 30,000. */
  timeoutMs?: number | undefined;
  retry?: RetryOptions | undefined;
  /** On every request, beside those of the client. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** In place of the runtime's own `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface RetryOptions {
  /** How often a request is sent again at most: 4. */
  retries?: number | undefined;
  /** Before the first retry; each one waits twice as long as the one before: 250. */
  minDelayMs?: number | undefined;
  /** No wait is longer. Where the gateway asks for a longer one, its error is thrown instead: 30,000. */
  maxDelayMs?: number | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** In place of the client's. */
  timeoutMs?: number | undefined;
  retries?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

export interface ChangeOptions extends RequestOptions {
  /** Changes only this version of it: see `etagOf`. Such a change is not sent again after a lost answer. */
  ifMatch?: string | undefined;
}

export interface CreateOptions extends RequestOptions {
  /** Made by the client when not given. Give one that you keep where your program may crash and ask again. */
  idempotencyKey?: string | undefined;
}

export interface UploadOptions extends RequestOptions {
  /** `application/json` when not given. */
  contentType?: string | undefined;
}
