import type { IncomingMessage } from "node:http";
import type { Authenticate } from "../intake/hot-routes.ts";
import { addressGroupOf } from "../model/addresses.ts";
import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { createTokenBucket } from "../model/token-bucket.ts";
import type { Keys } from "../resources/keys.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { PortalLinks } from "./session/passes.ts";
import type { Sessions } from "./session/sessions.ts";

interface CallerSources {
  keys: Pick<Keys, "authenticate">;
  sessions: Pick<Sessions, "find">;
  portalLinks: Pick<PortalLinks, "find">;
}

export interface AuthenticateOptions extends CallerSources {
  clientAddress: (request: IncomingMessage) => string;
  /** Invalid keys from these addresses are logged but not limited. */
  isExempt: (address: string) => boolean;
  clock: Pick<Clock, "now">;
  logger: Pick<Logger, "warn">;
}

const WINDOW_MS = 60_000;
/** After this many invalid keys in a window, further invalid ones get 429; a valid key still works. */
export const MAX_WRONG_KEYS = 20;
/** After this many, even valid keys are rejected until the window ends: nobody mistypes this often. */
export const FLOOD_OF_WRONG_KEYS = 1000;
const MAX_ADDRESSES = 10_000;
const LOG_LINES = { perSecond: 0.2, atOnce: 20 };

interface WrongKeys {
  readonly since: number;
  readonly isLimited: boolean;
  count: number;
}

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { clientAddress, isExempt, clock, logger } = options;
  /** Oldest first. */
  const wrong = new Map<string, WrongKeys>();
  const lines = createTokenBucket(LOG_LINES.perSecond, clock.now(), LOG_LINES.atOnce);
  let untold = 0;

  function find(group: string): WrongKeys | undefined {
    const found = wrong.get(group);
    if (found === undefined || clock.now() < found.since + WINDOW_MS) return found;
    wrong.delete(group);
    return undefined;
  }

  function begin(group: string, address: string): WrongKeys {
    // Sorted by the start of their windows: those to drop, because they ended or are too many, come first.
    for (const [one, { since }] of wrong) {
      if (wrong.size < MAX_ADDRESSES && clock.now() < since + WINDOW_MS) break;
      wrong.delete(one);
    }
    const begun = { since: clock.now(), isLimited: !isExempt(address), count: 0 };
    wrong.set(group, begun);
    return begun;
  }

  function rejectFlood(request: IncomingMessage): void {
    if (wrong.size === 0) return;
    const found = find(addressGroupOf(clientAddress(request)));
    if (found?.isLimited === true && found.count >= FLOOD_OF_WRONG_KEYS) throw tooMany(found);
  }

  function recordWrong(request: IncomingMessage): undefined {
    const address = clientAddress(request);
    const group = addressGroupOf(address);
    const found = find(group) ?? begin(group, address);
    found.count++;
    if (found.count === 1 || found.count === MAX_WRONG_KEYS + 1 || found.count === FLOOD_OF_WRONG_KEYS) {
      log(address, found);
    }
    if (found.isLimited && found.count > MAX_WRONG_KEYS) throw tooMany(found);
    return undefined;
  }

  /** Logs the first invalid key of each address, and when the limit is reached; never the key itself. */
  function log(address: string, { count, isLimited }: WrongKeys): void {
    const now = clock.now();
    if (lines.readyAt(now) > now) {
      untold++;
      return;
    }
    lines.take(now);
    const isRefused = isLimited && count > MAX_WRONG_KEYS;
    logger.warn(
      { remote_address: address, wrong_keys: count, is_limited: isRefused, ...(untold > 0 && { untold }) },
      "a request had an invalid key",
    );
    untold = 0;
  }

  function tooMany({ since }: WrongKeys): PosthornError {
    const retryAfterS = Math.max(1, Math.ceil((since + WINDOW_MS - clock.now()) / 1000));
    return new PosthornError(
      "too_many_requests",
      `Too many invalid keys came from this address. Try again in ${retryAfterS} s with a valid key.`,
      { retryAfterS },
    );
  }

  return (request, given) => {
    const key = given ?? readKey(request);
    if (key !== undefined) rejectFlood(request);
    const caller = findCaller(options, request, key);
    if (key === undefined) return caller;
    if (caller instanceof Promise) return caller.then((known) => known ?? recordWrong(request));
    return caller ?? recordWrong(request);
  };
}

/** As `Authenticate`, but nobody counts invalid keys: for asking again about a request that was allowed. */
export function findCaller(
  { keys, sessions, portalLinks }: CallerSources,
  request: IncomingMessage,
  key = readKey(request),
): ReturnType<Authenticate> {
  return key === undefined ? sessions.find(request)?.caller : (portalLinks.find(key) ?? keys.authenticate(key));
}

/** From `Authorization: Bearer KEY` or `x-api-key`. */
function readKey(request: IncomingMessage): string | undefined {
  const { authorization } = request.headers;
  if (authorization !== undefined && /^bearer /i.test(authorization)) return authorization.slice(7).trim();
  const key = request.headers["x-api-key"];
  return typeof key === "string" ? key : undefined;
}
