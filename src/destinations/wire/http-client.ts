import type { Clock, Timer } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import { type HeaderBlock, toHeaderBlock } from "../../model/headers.ts";
import { parseUrl } from "../../model/addresses.ts";
import { findProblem, portOf, type DestinationRules } from "./address-guard.ts";
import type { ConnectionTerms } from "./connection-terms.ts";
import { openConnections } from "./connections.ts";
import { Exchange, type ExchangeParts } from "./exchange.ts";
import { createGuardedConnect, type GuardedConnectOptions } from "./guarded-connect.ts";
import { type Lookup, openNameLookup } from "./names/name-lookup.ts";
import type { HttpClient, HttpResult, Target } from "./http.ts";

export interface HttpClientOptions
  extends DestinationRules, Pick<GuardedConnectOptions, "clock" | "proxy" | "certificates"> {
  connectionsPerHost?: number;
  idleConnectionsPerHost?: number;
  maxSockets?: number;
  connectTimeoutMs?: number;
  /** How long an idle connection is kept when the destination does not say. */
  keepAliveMs?: number;
  /** For tests: replaces the client's own lookup, which asks the system's DNS servers. */
  lookup?: Lookup;
  /** For tests: certificates to trust instead of the usual ones. */
  tls?: { ca?: string };
}

const MAX_CACHED_TARGETS = 10_000;
/** A space or a line break would end the request line early. */
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
  });
  const deadlines = createDeadlines<Exchange>(clock);
  const targets = new Map<string, Target>();
  let isClosed = false;

  /** Returns a text when the URL cannot be used. Only valid targets are cached: a refused one may be allowed later. */
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
        const isBlocked = typeof target === "string";
        setImmediate(done, isBlocked ? failure("blocked", target) : failure("error", "the gateway stopped"));
        return;
      }
      if (request.path !== undefined && !REQUEST_TARGET.test(request.path)) {
        setImmediate(done, failure("error", `${JSON.stringify(request.path)} is not a valid request path`));
        return;
      }
      let headers: HeaderBlock;
      try {
        headers = typeof request.headers === "string" ? request.headers : toHeaderBlock(request.headers);
      } catch (error) {
        setImmediate(done, failure("error", (error as Error).message));
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

function failure(kind: "blocked" | "error", error: string): HttpResult {
  return { kind, error };
}

const TEXT_TIMEOUT_MS = 5000;
const NOTHING = new Uint8Array(0);
const TEXT_HEADERS = { accept: "*/*", "user-agent": "Posthorn" };

/** Fetches small texts such as certificates. A failure is the gateway's problem: the caller may retry. */
export function createFetchText(client: Pick<HttpClient, "request">): (url: string) => Promise<string> {
  return (url) =>
    new Promise((resolve, reject) => {
      const limits = { timeoutMs: TEXT_TIMEOUT_MS, maxRedirects: 0 };
      client.request({ method: "GET", url, headers: TEXT_HEADERS, body: NOTHING, ...limits }, (result) => {
        if (result.kind === "response" && result.status === 200) {
          return resolve(Buffer.from(result.body).toString("utf8"));
        }
        const host = parseUrl(url)?.host ?? "an invalid address";
        const reason = result.kind === "response" ? `it answered ${result.status}` : result.error;
        const message = `A text that is needed from ${host} could not be fetched (${reason}).`;
        reject(new PosthornError("unavailable", message, { retryAfterS: 30 }));
      });
    });
}

export interface Expiring {
  /** Both are managed by the deadlines, to find the item again: a Set would hash it twice for each request. */
  sweep: unknown[] | undefined;
  placeInSweep: number;
  expire(): void;
}

const SWEEP_MS = 100;

/**
 * One timer for the deadlines of all requests: a timer or AbortSignal for each would cost a third of the throughput.
 * Items expire at their deadline or up to one sweep later.
 */
export function createDeadlines<Item extends Expiring>(clock: Clock) {
  /** Items by the sweep that ends them: adding and removing take the same time for any number of items. */
  const bySweep = new Map<number, Item[]>();
  let size = 0;
  let timer: Timer | undefined;

  function arm(): void {
    timer ??= clock.setTimer((Math.floor(clock.now() / SWEEP_MS) + 1) * SWEEP_MS, sweep);
  }

  function sweep(): void {
    timer = undefined;
    const now = clock.now();
    for (const [sweepAt, items] of bySweep) {
      if (sweepAt > now) continue;
      bySweep.delete(sweepAt);
      size -= items.length;
      for (const item of items) item.sweep = undefined;
      for (const item of items) item.expire();
    }
    if (size > 0) arm();
    else bySweep.clear();
  }

  return {
    add(item: Item, at: number): void {
      const sweepAt = Math.ceil(at / SWEEP_MS) * SWEEP_MS;
      let items = bySweep.get(sweepAt);
      if (items === undefined) bySweep.set(sweepAt, (items = []));
      item.sweep = items;
      item.placeInSweep = items.push(item) - 1;
      size += 1;
      arm();
    },
    remove(item: Item): void {
      const items = item.sweep as Item[] | undefined;
      const last = items?.pop();
      if (items === undefined || last === undefined) return;
      item.sweep = undefined;
      size -= 1;
      if (last === item) return;
      // The last item takes the free place.
      items[item.placeInSweep] = last;
      last.placeInSweep = item.placeInSweep;
    },
    /** Stops the timer and returns all items. */
    clear(): Item[] {
      timer?.cancel();
      timer = undefined;
      const left = [...bySweep.values()].flat();
      for (const item of left) item.sweep = undefined;
      bySweep.clear();
      size = 0;
      return left;
    },
  };
}
