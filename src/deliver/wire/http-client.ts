import type { Clock } from "../../domain/clock.ts";
import { type HeaderBlock, toHeaderBlock, withoutCredentials } from "../../domain/header-block.ts";
import { parseUrl } from "../../domain/parse-url.ts";
import type { AddressGuard } from "./address-guard.ts";
import type { ConnectionTerms } from "./connection-terms.ts";
import { type Connection, openConnections, type Target, type Waiter } from "./connections.ts";
import { createDeadlines, type Expiring } from "./deadlines.ts";
import { findProblem, portOf } from "../destination.ts";
import { createGuardedConnect } from "./guarded-connect.ts";
import type { AnswerHead } from "./http1/answer-head.ts";
import type { Requester } from "./http1/wire.ts";
import { type Lookup, openNameLookup } from "./names/name-lookup.ts";
import { describe, isBlocked, isLostConnection, isOurFault } from "./network-fault.ts";
import type { EgressProxy } from "./proxy-tunnel.ts";

/** The one HTTP client for everything that leaves: guarded, with a deadline, never reading more than it should. */
export interface HttpClient {
  /**
   * Sends one request, follows redirects, and calls `done` exactly once, at the latest a sweep after the deadline and
   * never before `request` has returned.
   */
  request(request: HttpRequest, done: (result: HttpResult) => void): void;
  /** Ends at once what is in flight (`error`) and closes all sockets. */
  close(): Promise<void>;
}

export interface HttpRequest {
  method: string;
  url: URL | string;
  /** What stands in the request line instead of the path and query of `url`, at the first hop. */
  path?: string | undefined;
  /** By name, or written already. */
  headers: Readonly<Record<string, string>> | HeaderBlock;
  /** More of them, which no other origin gets: a redirect may lead anywhere. */
  originHeaders?: HeaderBlock | undefined;
  body: Uint8Array;
  /** For all of it: connecting, every hop, the whole answer. */
  timeoutMs: number;
  /** Whose turn it is where many wait for the connections of one host: a tenant. */
  owner?: string;
  /** 3 when not given. */
  maxRedirects?: number;
  /** What speaks against going on to where a redirect leads. */
  findHopProblem?: ((url: string) => string | undefined) | undefined;
  /** What the connections for it must fulfil, over all its hops. */
  terms?: ConnectionTerms | undefined;
}

export interface HttpResponse {
  status: number;
  /** The same object as in the last answer when that was the same: it must not be changed. */
  headers: Readonly<Record<string, string>>;
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
  /** For tests: instead of one of its own, which asks the system's DNS servers. */
  lookup?: Lookup;
  /** For tests: certificates to trust instead of the usual ones. */
  tls?: { ca?: string };
}

const MAX_REDIRECTS = 3;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_READ_BYTES = 64 * 1024;
const MAX_KEPT_BYTES = 8 * 1024;
/** Headers, body, and what frames them. */
const MAX_RECEIVED_BYTES = 128 * 1024;
/** Answers with 1xx before the one that counts. */
const MAX_INFORMATIONAL = 100;
const MAX_CACHED_TARGETS = 10_000;
const EMPTY = new Uint8Array(0);
/** A space or a line break would be the end of the request line. */
const REQUEST_TARGET = /^\/[\x21-\x7e]*$/;
/** 303 asks for a GET, which would lose the event. */
const FOLLOWED: ReadonlySet<number> = new Set([301, 302, 307, 308]);

export function openHttpClient(options: HttpClientOptions): HttpClient {
  const { clock } = options;
  const names = options.lookup === undefined ? openNameLookup({ clock }) : { lookup: options.lookup, close() {} };
  const connections = openConnections({
    connect: createGuardedConnect({
      guard: options.guard,
      clock,
      timeoutMs: options.connectTimeoutMs ?? 5000,
      lookup: names.lookup,
      ca: options.tls?.ca,
      proxy: options.proxy,
    }),
    clock,
    perHost: options.connectionsPerHost ?? 100,
    keptPerHost: options.idleConnectionsPerHost ?? 20,
    max: options.maxSockets ?? 1024,
    keepAliveMs: options.keepAliveMs ?? 10_000,
    maxHeadBytes: MAX_HEADER_BYTES,
    maxReadBytes: MAX_RECEIVED_BYTES,
  });
  const deadlines = createDeadlines<Exchange>(clock);
  const targets = new Map<string, Target>();
  let isClosed = false;

  /** A problem is a text. Only good targets are remembered: what is refused may be allowed later. */
  function findTarget(href: string, terms: ConnectionTerms | undefined): Target | string {
    const key = terms === undefined ? href : `${terms.id} ${href}`;
    const known = targets.get(key);
    if (known !== undefined) return known;
    const url = parseUrl(href);
    if (url === undefined) return `${JSON.stringify(href)} is not a URL.`;
    const problem = findProblem(url, options);
    if (problem !== undefined) return problem;
    const target = {
      href: url.href,
      origin: url.origin,
      protocol: url.protocol,
      hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
      port: portOf(url),
      path: url.pathname + url.search,
      hostLine: `host: ${url.host}\r\n`,
      pool: terms === undefined ? url.origin : `${terms.id} ${url.origin}`,
      terms,
    };
    if (targets.size >= MAX_CACHED_TARGETS) targets.clear();
    targets.set(key, target);
    return target;
  }

  /** One request on its way, over all its hops. */
  class Exchange implements Waiter, Expiring, Requester {
    isFinished = false;
    sweep: unknown[] | undefined;
    placeInSweep = 0;
    readonly owner: string;
    readonly #done: (result: HttpResult) => void;
    readonly #method: string;
    readonly #timeoutMs: number;
    #headers: HeaderBlock;
    #originHeaders: HeaderBlock;
    #body: Uint8Array;
    #target: Target;
    #path: string;
    #hopsLeft: number;
    readonly #findHopProblem: HttpRequest["findHopProblem"];
    #connection: Connection | undefined;
    #isSecondTry = false;
    #answer: AnswerHead | undefined;
    #kept: Uint8Array = EMPTY;
    #readBytes = 0;
    #informational = 0;

    constructor(request: HttpRequest, target: Target, headers: HeaderBlock, done: (result: HttpResult) => void) {
      this.owner = request.owner ?? "";
      this.#done = done;
      this.#method = request.method;
      this.#timeoutMs = request.timeoutMs;
      this.#headers = headers;
      this.#originHeaders = request.originHeaders ?? "";
      this.#body = request.body;
      this.#target = target;
      this.#path = request.path ?? target.path;
      this.#hopsLeft = request.maxRedirects ?? MAX_REDIRECTS;
      this.#findHopProblem = request.findHopProblem;
    }

    send(): void {
      deadlines.add(this, clock.now() + this.#timeoutMs);
      connections.acquire(this.#target, this);
    }

    start(connection: Connection): void {
      this.#connection = connection;
      this.#answer = undefined;
      this.#readBytes = 0;
      this.#kept = EMPTY;
      const { hostLine } = this.#target;
      // Nothing here unpacks an answer: 158 bytes of brotli can hold 100 MB.
      const head =
        `${this.#method} ${this.#path} HTTP/1.1\r\n${hostLine}${this.#headers}${this.#originHeaders}` +
        `accept-encoding: identity\r\ncontent-length: ${this.#body.length}\r\n\r\n`;
      connection.request(head, this.#body, this);
    }

    expire(): void {
      const status = this.#answer?.status;
      const what = status === undefined ? "no answer" : `answered ${status}, but not to the end`;
      this.#fail("timed_out", `${what} within ${this.#timeoutMs} ms`);
    }

    stop(): void {
      this.#fail("error", "the gateway stopped");
    }

    takeHead(head: AnswerHead): void {
      if (head.status >= 200) {
        this.#answer = head;
        return;
      }
      this.#informational += 1;
      if (this.#informational > MAX_INFORMATIONAL) this.#fail("unreachable", "too many answers with 1xx");
    }

    takeBody(bytes: Uint8Array): void {
      if (this.#readBytes < MAX_KEPT_BYTES) this.#keep(bytes.subarray(0, MAX_KEPT_BYTES - this.#readBytes));
      this.#readBytes += bytes.length;
      if (this.#readBytes > MAX_READ_BYTES) this.#complete(false);
    }

    takeEnd(isClean: boolean): void {
      this.#complete(isClean);
    }

    lost(error: Error): void {
      const connection = this.#connection;
      if (this.isFinished || connection === undefined) return;
      if (isOurFault(error)) {
        this.#fail("error", error.message);
        return;
      }
      // A destination may close an idle connection at the moment of its reuse. Nothing was answered, and receivers know
      // a repeated request by its webhook-id: it is sent once more, on a connection that did not lie idle.
      const wasIdle = connection.served > 0 && this.#answer === undefined;
      if (wasIdle && !this.#isSecondTry && isLostConnection(error)) {
        this.#isSecondTry = true;
        this.#connection = undefined;
        connections.discard(connection);
        connections.acquireFresh(this.#target, this);
        return;
      }
      this.#fail(isBlocked(error) ? "blocked" : "unreachable", describe(error));
    }

    /** A copy, because the chunk is a small part of a large buffer, and what is kept may be kept for long. */
    #keep(chunk: Uint8Array): void {
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
      const answer = this.#answer;
      if (this.isFinished || connection === undefined || answer === undefined) return;
      const location = FOLLOWED.has(answer.status) ? answer.headers["location"] : undefined;
      if (location === undefined) this.#respond(connection, answer, isClean);
      else this.#redirect(connection, answer, location, isClean);
    }

    #redirect(connection: Connection, answer: AnswerHead, location: string, isClean: boolean): void {
      const from = this.#target;
      const here = this.#href;
      const next = parseUrl(location, here);
      let objection: string | undefined;
      if (next === undefined) objection = "its Location is not a URL";
      else if (this.#readBytes > MAX_READ_BYTES) objection = "its body is too long";
      else if (this.#hopsLeft === 0) objection = "it is one redirect too many";
      else if (from.protocol === "https:" && next.protocol === "http:") objection = "it leads from https to http";
      if (next === undefined || objection !== undefined) {
        this.#respond(connection, answer, isClean, `redirect not followed: ${objection}`);
        return;
      }
      next.hash = "";
      const isSameOrigin = next.origin === from.origin;
      const problem = this.#findHopProblem?.(next.href);
      const target = problem ?? findTarget(next.href, isSameOrigin ? from.terms : from.terms?.elsewhere);
      if (typeof target === "string") {
        this.#fail("blocked", `redirect to ${next.origin}: ${target}`);
        return;
      }
      if (!isSameOrigin) {
        this.#headers = withoutCredentials(this.#headers);
        this.#originHeaders = "";
      }
      this.#hopsLeft -= 1;
      this.#target = target;
      this.#path = target.path;
      this.#isSecondTry = false;
      this.#free(connection, isClean);
      this.#connection = undefined;
      connections.acquire(target, this);
    }

    #respond(connection: Connection, answer: AnswerHead, isClean: boolean, error?: string): void {
      const result: HttpResult = {
        kind: "response",
        status: answer.status,
        headers: answer.headers,
        body: this.#keptBody,
        address: connection.address ?? "",
        url: this.#href,
      };
      if (error !== undefined) result.error = error;
      this.#finish(result, isClean);
    }

    get #href(): string {
      const { href, origin, path } = this.#target;
      return this.#path === path ? href : origin + this.#path;
    }

    #fail(kind: Exclude<HttpResult["kind"], "response">, error: string): void {
      this.#finish({ kind, error, address: this.#connection?.address, response: this.#response }, false);
    }

    /** What had come of it. */
    get #response(): HttpResponse | undefined {
      const answer = this.#answer;
      return answer && { status: answer.status, headers: answer.headers, body: this.#keptBody };
    }

    #finish(result: HttpResult, isClean: boolean): void {
      if (this.isFinished) return;
      this.isFinished = true;
      const connection = this.#connection;
      this.#connection = undefined;
      this.#body = EMPTY;
      deadlines.remove(this);
      if (connection !== undefined) this.#free(connection, isClean);
      this.#done(result);
    }

    #free(connection: Connection, isClean: boolean): void {
      if (isClean) connections.release(connection, this.#answer?.keepAliveMs);
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
      if (request.path !== undefined && !REQUEST_TARGET.test(request.path)) {
        setImmediate(done, { kind: "error", error: `${JSON.stringify(request.path)} is no path of a request` });
        return;
      }
      let headers: HeaderBlock;
      try {
        headers = typeof request.headers === "string" ? request.headers : toHeaderBlock(request.headers);
      } catch (error) {
        setImmediate(done, { kind: "error", error: (error as Error).message });
        return;
      }
      new Exchange(request, target, headers, done).send();
    },
    close() {
      isClosed = true;
      for (const exchange of deadlines.clear()) exchange.stop();
      connections.close();
      names.close();
      return Promise.resolve();
    },
  };
}
