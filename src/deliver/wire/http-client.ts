import type { Clock } from "../../domain/clock.ts";
import { PosthornError } from "../../domain/errors.ts";
import { type HeaderBlock, toHeaderBlock } from "../../domain/header-block.ts";
import { parseUrl } from "../../domain/parse-url.ts";
import { findProblem, portOf } from "../destination.ts";
import type { AddressGuard } from "./address-guard.ts";
import type { ConnectionTerms } from "./connection-terms.ts";
import { openConnections, type Target } from "./connections.ts";
import { createDeadlines } from "./deadlines.ts";
import { Exchange, type ExchangeParts } from "./exchange.ts";
import { createGuardedConnect } from "./guarded-connect.ts";
import { type Lookup, openNameLookup } from "./names/name-lookup.ts";
import type { NotedCertificates } from "./noted-certificates.ts";
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
  /** Is shown the certificates of destinations. */
  certificates?: Pick<NotedCertificates, "note"> | undefined;
  /** For tests: instead of one of its own, which asks the system's DNS servers. */
  lookup?: Lookup;
  /** For tests: certificates to trust instead of the usual ones. */
  tls?: { ca?: string };
}

const MAX_HEADER_BYTES = 16 * 1024;
/** Headers, body, and what frames them. */
const MAX_RECEIVED_BYTES = 128 * 1024;
const MAX_CACHED_TARGETS = 10_000;
/** A space or a line break would be the end of the request line. */
const REQUEST_TARGET = /^\/[\x21-\x7e]*$/;

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
      certificates: options.certificates,
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

  const parts: ExchangeParts = { clock, connections, deadlines, findTarget };
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
      new Exchange(parts, request, target, headers, done).send();
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

const TEXT_TIMEOUT_MS = 5000;
const NOTHING = new Uint8Array(0);
const TEXT_HEADERS = { accept: "*/*", "user-agent": "Posthorn" };

/** Small texts from elsewhere, such as certificates. That one cannot be had is our own trouble: whoever waits may retry. */
export function createFetchText(client: Pick<HttpClient, "request">): (url: string) => Promise<string> {
  return (url) =>
    new Promise((resolve, reject) => {
      const request = {
        method: "GET",
        url,
        headers: TEXT_HEADERS,
        body: NOTHING,
        timeoutMs: TEXT_TIMEOUT_MS,
        maxRedirects: 0,
      };
      client.request(request, (result) => {
        if (result.kind === "response" && result.status === 200) {
          return resolve(Buffer.from(result.body).toString("utf8"));
        }
        const host = parseUrl(url)?.host ?? "an address that is none";
        const reason = result.kind === "response" ? `it answered ${result.status}` : result.error;
        const message = `What is needed from ${host} could not be fetched (${reason}).`;
        reject(new PosthornError("unavailable", message, { retryAfterS: 30 }));
      });
    });
}
