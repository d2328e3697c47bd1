import type { IncomingHttpHeaders } from "node:http";
import { Client, type Dispatcher } from "undici";
import type { Clock } from "../domain/clock.ts";
import { isCredentialHeader } from "../domain/credential-header.ts";
import type { AddressGuard } from "./address-guard.ts";
import type { ConnectionTerms } from "./connection-terms.ts";
import { type Connection, openConnections, type Target, type Waiter } from "./connections.ts";
import { createDeadlines, type Expiring } from "./deadlines.ts";
import { findProblem, portOf } from "./destination.ts";
import { createGuardedConnect, type Lookup } from "./guarded-connect.ts";
import { describe, isBlocked, isLostConnection, isOurFault } from "./network-fault.ts";
import type { EgressProxy } from "./proxy-tunnel.ts";

/** The one HTTP client for everything that leaves: guarded, with a deadline, never reading more than it should. */
export interface HttpClient {
  /**
   * Sends one request, follows redirects, and calls `done` exactly once, at the latest a sweep after the deadline and
   * never before `request` has returned. A flat array of headers belongs to the client from then on.
   */
  request(request: HttpRequest, done: (result: HttpResult) => void): void;
  /** Ends at once what is in flight (`error`) and closes all sockets. */
  close(): Promise<void>;
}

export interface HttpRequest {
  method: Dispatcher.HttpMethod;
  url: URL | string;
  /** By name, or flat: name, value, name, value, … */
  headers: Readonly<Record<string, string>> | string[];
  body: Uint8Array;
  /** For all of it: connecting, every hop, the whole answer. */
  timeoutMs: number;
  /** Whose turn it is where many wait for the connections of one host: a tenant. */
  owner?: string;
  /** 3 when not given. */
  maxRedirects?: number;
  /** What the connections for it must fulfil, over all its hops. */
  terms?: ConnectionTerms | undefined;
}

export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  /** At most the first 8 KB. */
  body: Uint8Array;
}

export type HttpResult =
  | (HttpResponse & {
      kind: "response";
      address: string;
      /** Of the last hop. */
      url: string;
      /** Why a redirect was not followed. */
      error?: string;
    })
  | {
      kind: "timed_out" | "unreachable" | "blocked" | "error";
      error: string;
      address?: string | undefined;
      /** What had come of an answer when it ended. */
      response?: HttpResponse | undefined;
    };

export interface HttpClientOptions {
  guard: AddressGuard;
  allowHttp: boolean;
  clock: Clock;
  connectionsPerHost?: number;
  idleConnectionsPerHost?: number;
  maxSockets?: number;
  connectTimeoutMs?: number;
  /** How long an unused connection is kept, where the destination does not say. */
  keepAliveMs?: number;
  /** The only way out, when there is one. Proxies that the environment names are ignored. */
  proxy?: EgressProxy | undefined;
  /** For tests. */
  lookup?: Lookup;
  /** For tests: certificates to trust instead of the usual ones. */
  tls?: { ca?: string };
}

const MAX_REDIRECTS = 3;
const MAX_KEEP_ALIVE_MS = 60_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_READ_BYTES = 64 * 1024;
const MAX_KEPT_BYTES = 8 * 1024;
/** Headers, body, and what frames them. */
const MAX_RECEIVED_BYTES = 128 * 1024;
/** Answers with 1xx before the one that counts. */
const MAX_INFORMATIONAL = 100;
const MAX_CACHED_TARGETS = 10_000;
const TOO_MUCH = "far more came than an answer needs";
const EMPTY = new Uint8Array(0);
/** 303 asks for a GET, which would lose the event. */
const FOLLOWED: ReadonlySet<number> = new Set([301, 302, 307, 308]);

export function openHttpClient(options: HttpClientOptions): HttpClient {
  const { clock } = options;
  const connections = openConnections({
    connect: createGuardedConnect({
      guard: options.guard,
      clock,
      timeoutMs: options.connectTimeoutMs ?? 5000,
      lookup: options.lookup,
      ca: options.tls?.ca,
      proxy: options.proxy,
    }),
    clock,
    perHost: options.connectionsPerHost ?? 100,
    keptPerHost: options.idleConnectionsPerHost ?? 20,
    maxReadBytes: MAX_RECEIVED_BYTES,
    max: options.maxSockets ?? 1024,
    createClient: (origin, connector) =>
      new Client(origin, {
        connect: connector,
        // The deadline is over all of a request; these would watch gaps only.
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: options.keepAliveMs ?? 10_000,
        keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
        // Undici makes an error of each header beyond it, thousands in one read. What comes in is bounded before that.
        maxHeaderSize: 2 * MAX_RECEIVED_BYTES,
      }),
  });
  const deadlines = createDeadlines<Exchange>(clock);
  const targets = new Map<string, Target>();
  let isClosed = false;

  /** A problem is a text. Only good targets are remembered: what is refused may be allowed later. */
  function findTarget(href: string, terms: ConnectionTerms | undefined): Target | string {
    const key = terms === undefined ? href : `${terms.id} ${href}`;
    const known = targets.get(key);
    if (known !== undefined) return known;
    if (!URL.canParse(href)) return `${JSON.stringify(href)} is not a URL.`;
    const url = new URL(href);
    const problem = findProblem(url, options);
    if (problem !== undefined) return problem;
    const target = {
      href: url.href,
      origin: url.origin,
      protocol: url.protocol,
      hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
      port: portOf(url),
      path: url.pathname + url.search,
      pool: terms === undefined ? url.origin : `${terms.id} ${url.origin}`,
      terms,
    };
    if (targets.size >= MAX_CACHED_TARGETS) targets.clear();
    targets.set(key, target);
    return target;
  }

  /** One request on its way, over all its hops. A class, because undici calls its methods for every delivery. */
  class Exchange implements Waiter, Expiring, Dispatcher.DispatchHandler {
    isFinished = false;
    sweepAt = 0;
    readonly owner: string;
    readonly #done: (result: HttpResult) => void;
    readonly #method: Dispatcher.HttpMethod;
    readonly #timeoutMs: number;
    #headers: string[];
    #body: Uint8Array;
    #target: Target;
    #hopsLeft: number;
    #connection: Connection | undefined;
    #isSecondTry = false;
    #status = 0;
    #responseHeaders: IncomingHttpHeaders = {};
    #kept: Uint8Array = EMPTY;
    #readBytes = 0;
    #informational = 0;

    constructor(request: HttpRequest, target: Target, headers: string[], done: (result: HttpResult) => void) {
      this.owner = request.owner ?? "";
      this.#done = done;
      this.#method = request.method;
      this.#timeoutMs = request.timeoutMs;
      this.#headers = headers;
      this.#body = request.body;
      this.#target = target;
      this.#hopsLeft = request.maxRedirects ?? MAX_REDIRECTS;
    }

    send(): void {
      deadlines.add(this, clock.now() + this.#timeoutMs);
      connections.acquire(this.#target, this);
    }

    start(connection: Connection): void {
      this.#connection = connection;
      this.#status = 0;
      this.#readBytes = 0;
      this.#kept = EMPTY;
      connection.client.dispatch(
        { path: this.#target.path, method: this.#method, headers: this.#headers, body: this.#body },
        this,
      );
    }

    expire(): void {
      const what = this.#status === 0 ? "no answer" : `answered ${this.#status}, but not to the end`;
      this.#fail("timed_out", `${what} within ${this.#timeoutMs} ms`);
    }

    stop(): void {
      this.#fail("error", "the gateway stopped");
    }

    flooded(connection: Connection): void {
      if (connection === this.#connection) this.#fail("unreachable", TOO_MUCH);
    }

    // Undici takes an object with this method for a handler of the current kind.
    onRequestStart(): void {
      if (this.#connection !== undefined) connections.watch(this.#connection, this);
    }

    onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
      if (status < 200) {
        this.#informational += 1;
        if (this.#informational > MAX_INFORMATIONAL) controller.abort(new Error("too many answers with 1xx"));
        return;
      }
      const readBytes = this.#connection?.readBytes ?? 0;
      if (readBytes > MAX_HEADER_BYTES && sizeOf(headers) > MAX_HEADER_BYTES) {
        controller.abort(new Error("the answer's headers are too large"));
        return;
      }
      this.#status = status;
      this.#responseHeaders = headers;
    }

    onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
      if (this.isFinished || this.#connection === undefined) return;
      if (this.#readBytes < MAX_KEPT_BYTES) this.#keep(chunk.subarray(0, MAX_KEPT_BYTES - this.#readBytes));
      this.#readBytes += chunk.length;
      if (this.#readBytes > MAX_READ_BYTES) this.#complete(false);
    }

    onResponseEnd(): void {
      this.#complete(true);
    }

    onResponseError(_: Dispatcher.DispatchController, error: Error): void {
      const connection = this.#connection;
      if (this.isFinished || connection === undefined) return;
      if (isOurFault(error)) {
        // Undici says this inside of `dispatch`, and `done` must not be called before `request` returns.
        setImmediate(() => this.#fail("error", error.message));
        return;
      }
      // A destination may close an idle connection at the moment of its reuse. Nothing was answered, and receivers know
      // a repeated request by its webhook-id: it is sent once more, on a connection that did not lie idle.
      const wasIdle = connection.served > 0 && this.#status === 0;
      if (wasIdle && !this.#isSecondTry && isLostConnection(error)) {
        this.#isSecondTry = true;
        this.#connection = undefined;
        connections.discard(connection);
        connections.acquireFresh(this.#target, this);
        return;
      }
      const reason = connection.isFlooded ? TOO_MUCH : describe(error);
      this.#fail(isBlocked(error) ? "blocked" : "unreachable", reason);
    }

    /** A copy, because the chunk is a small part of a large buffer, and what is kept may be kept for long. */
    #keep(chunk: Buffer): void {
      if (this.#readBytes === 0) {
        this.#kept = new Uint8Array(chunk);
        return;
      }
      // A body may come byte by byte: it must not be copied anew for each.
      if (this.#kept.length < MAX_KEPT_BYTES) {
        const room = new Uint8Array(MAX_KEPT_BYTES);
        room.set(this.#kept);
        this.#kept = room;
      }
      this.#kept.set(chunk, this.#readBytes);
    }

    get #keptBody(): Uint8Array {
      return this.#kept.length > this.#readBytes ? this.#kept.slice(0, this.#readBytes) : this.#kept;
    }

    #complete(isClean: boolean): void {
      const connection = this.#connection;
      if (this.isFinished || connection === undefined) return;
      const location = this.#responseHeaders["location"];
      if (FOLLOWED.has(this.#status) && location !== undefined) {
        this.#redirect(connection, location, isClean);
        return;
      }
      this.#respond(connection, isClean, undefined);
    }

    #redirect(connection: Connection, location: string, isClean: boolean): void {
      const from = this.#target;
      const next = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
      let objection: string | undefined;
      if (next === undefined) objection = "its Location is not a URL";
      // Its connection is about to fail, which must not be taken for a failure of the next hop.
      else if (!isClean) objection = "its body is too long";
      else if (this.#hopsLeft === 0) objection = "it is one redirect too many";
      else if (from.protocol === "https:" && next.protocol === "http:") objection = "it leads from https to http";
      if (next === undefined || objection !== undefined) {
        this.#respond(connection, isClean, `redirect not followed: ${objection}`);
        return;
      }
      next.hash = "";
      const isSameOrigin = next.origin === from.origin;
      const target = findTarget(next.href, isSameOrigin ? from.terms : from.terms?.elsewhere);
      if (typeof target === "string") {
        this.#fail("blocked", `redirect to ${next.origin}: ${target}`);
        return;
      }
      if (!isSameOrigin) this.#headers = withoutCredentials(this.#headers);
      this.#hopsLeft -= 1;
      this.#target = target;
      this.#isSecondTry = false;
      this.#connection = undefined;
      connections.release(connection);
      connections.acquire(target, this);
    }

    #respond(connection: Connection, isClean: boolean, error: string | undefined): void {
      const result: HttpResult = {
        kind: "response",
        status: this.#status,
        headers: flattenHeaders(this.#responseHeaders),
        body: this.#keptBody,
        address: connection.address ?? "",
        url: this.#target.href,
      };
      if (error !== undefined) result.error = error;
      this.#finish(result, isClean);
    }

    #fail(kind: Exclude<HttpResult["kind"], "response">, error: string): void {
      const response = this.#status === 0 ? undefined : this.#response();
      this.#finish({ kind, error, address: this.#connection?.address, response }, false);
    }

    #response(): HttpResponse {
      return { status: this.#status, headers: flattenHeaders(this.#responseHeaders), body: this.#keptBody };
    }

    #finish(result: HttpResult, isClean: boolean): void {
      if (this.isFinished) return;
      this.isFinished = true;
      const connection = this.#connection;
      this.#connection = undefined;
      this.#body = EMPTY;
      deadlines.remove(this);
      if (connection !== undefined) this.#free(connection, isClean);
      try {
        this.#done(result);
      } catch (error) {
        // Undici would take it for a fault of the response and keep it to itself.
        queueMicrotask(() => {
          throw error;
        });
      }
    }

    #free(connection: Connection, isClean: boolean): void {
      if (isClean) connections.release(connection);
      else connections.discard(connection);
    }
  }

  return {
    request(request, done) {
      const href = typeof request.url === "string" ? request.url : request.url.href;
      const target = findTarget(href, request.terms);
      if (isClosed || typeof target === "string") {
        const result: HttpResult =
          typeof target === "string"
            ? { kind: "blocked", error: target }
            : { kind: "error", error: "the gateway stopped" };
        setImmediate(done, result);
        return;
      }
      const headers = Array.isArray(request.headers) ? request.headers : Object.entries(request.headers).flat();
      // Nothing here unpacks an answer: 158 bytes of brotli can hold 100 MB.
      headers.push("accept-encoding", "identity");
      new Exchange(request, target, headers, done).send();
    },
    close() {
      isClosed = true;
      for (const exchange of deadlines.clear()) exchange.stop();
      connections.close();
      return Promise.resolve();
    },
  };
}

function sizeOf(headers: IncomingHttpHeaders): number {
  let size = 0;
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) for (const one of value) size += name.length + one.length;
    else size += name.length + (value?.length ?? 0);
  }
  return size;
}

function withoutCredentials(headers: readonly string[]): string[] {
  return headers.filter((_, at) => {
    const name = headers[at - (at % 2)] ?? "";
    // A signature may be called X-Auth-Signature; it proves the event and opens nothing.
    return !isCredentialHeader(name) || /signature/i.test(name);
  });
}

function flattenHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) headers[name] = value.join(", ");
  }
  return headers as Record<string, string>;
}
