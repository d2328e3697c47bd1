import type { IncomingMessage } from "node:http";
import { createTokenBucket } from "../domain/token-bucket.ts";
import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import type { Caller, Keys } from "../registry/keys.ts";
import type { Logger } from "../telemetry/logger.ts";
import { groupOf } from "./client-address.ts";
import type { PortalLinks } from "./session/portal-links.ts";
import type { Sessions } from "./session/sessions.ts";

/**
 * Who calls: by their key, by a portal link, or by the cookie of their session. Undefined without one or with a wrong one;
 * throws `too_many_requests` when wrong ones come too often from one address. `key` is one that stands elsewhere than in
 * the headers.
 */
export type Authenticate = (request: IncomingMessage, key?: string) => Caller | undefined | Promise<Caller | undefined>;

export interface AuthenticateOptions {
  keys: Pick<Keys, "authenticate">;
  sessions: Pick<Sessions, "find">;
  portalLinks: Pick<PortalLinks, "find">;
  clientAddress: (request: IncomingMessage) => string;
  /** Wrong keys of these are told and not limited. */
  isExempt: (address: string) => boolean;
  clock: Pick<Clock, "now">;
  logger: Pick<Logger, "warn">;
}

const WINDOW_MS = 60_000;
/** After so many wrong keys in a window further wrong ones get 429; a right one still works. */
export const MAX_WRONG_KEYS = 20;
/** After so many no key is looked at any more until the window is over: nobody mistypes this often. */
export const FLOOD_OF_WRONG_KEYS = 1000;
const MAX_ADDRESSES = 10_000;
const LOG_LINES = { perSecond: 0.2, atOnce: 20 };

interface WrongKeys {
  readonly since: number;
  readonly isLimited: boolean;
  count: number;
}

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { keys, sessions, portalLinks, clientAddress, isExempt, clock, logger } = options;
  /** The oldest first. */
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
    // Kept in the order of their windows: what is over, or else too much, stands in front.
    for (const [one, { since }] of wrong) {
      if (wrong.size < MAX_ADDRESSES && clock.now() < since + WINDOW_MS) break;
      wrong.delete(one);
    }
    const begun = { since: clock.now(), isLimited: !isExempt(address), count: 0 };
    wrong.set(group, begun);
    return begun;
  }

  function refuseFlood(request: IncomingMessage): void {
    if (wrong.size === 0) return;
    const found = find(groupOf(clientAddress(request)));
    if (found?.isLimited === true && found.count >= FLOOD_OF_WRONG_KEYS) throw tooMany(found);
  }

  function note(request: IncomingMessage): undefined {
    const address = clientAddress(request);
    const group = groupOf(address);
    const found = find(group) ?? begin(group, address);
    found.count++;
    if (found.count === 1 || found.count === MAX_WRONG_KEYS + 1 || found.count === FLOOD_OF_WRONG_KEYS) {
      tell(address, found);
    }
    if (found.isLimited && found.count > MAX_WRONG_KEYS) throw tooMany(found);
    return undefined;
  }

  /** A first one of each address, and where it becomes too much; never the key. */
  function tell(address: string, { count, isLimited }: WrongKeys): void {
    const now = clock.now();
    if (lines.readyAt(now) > now) {
      untold++;
      return;
    }
    lines.take(now);
    const isRefused = isLimited && count > MAX_WRONG_KEYS;
    logger.warn(
      { remote_address: address, wrong_keys: count, is_limited: isRefused, ...(untold > 0 && { untold }) },
      "a wrong key was sent",
    );
    untold = 0;
  }

  function tooMany({ since }: WrongKeys): PosthornError {
    const retryAfterS = Math.max(1, Math.ceil((since + WINDOW_MS - clock.now()) / 1000));
    return new PosthornError(
      "too_many_requests",
      `Too many wrong keys came from this address. Try again in ${retryAfterS} s, with the right key.`,
      { retryAfterS },
    );
  }

  return (request, given) => {
    const key = given ?? readKey(request);
    if (key === undefined) return sessions.find(request)?.caller;
    refuseFlood(request);
    const caller = portalLinks.find(key) ?? keys.authenticate(key);
    if (caller instanceof Promise) return caller.then((known) => known ?? note(request));
    return caller ?? note(request);
  };
}

/** From `Authorization: Bearer KEY` or `x-api-key`. */
function readKey(request: IncomingMessage): string | undefined {
  const { authorization } = request.headers;
  if (authorization !== undefined && /^bearer /i.test(authorization)) return authorization.slice(7).trim();
  const key = request.headers["x-api-key"];
  return typeof key === "string" ? key : undefined;
}
