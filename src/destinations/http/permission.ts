import type { Subscription } from "../../model/subscription.ts";
import type { PreparedAccess } from "../login.ts";
import type { HttpResult } from "../wire/http.ts";
import type { Handshake, SenderServices } from "../sender.ts";

type Done = (problem: string | undefined) => void;

interface Known {
  /** Callbacks that wait for the answer. */
  waiting: Done[] | undefined;
  validUntil: number;
  handshake: Handshake;
}

const PENDING: Handshake = { status: "pending" };
const VALID_MS = 24 * 3_600_000;
const TIMEOUT_MS = 10_000;
const EMPTY = new Uint8Array(0);

/**
 * github.com/cloudevents/spec, http-webhook.md §4: nothing is delivered to a destination before it has agreed to
 * deliveries from this gateway and to their rate.
 */
export function createPermissions({ client, clock, userAgent, publicHost: origin }: SenderServices) {
  const known = new WeakMap<Subscription, Known>();

  function request(subscription: Subscription, url: string, access: PreparedAccess, done: Done): void {
    const { rateLimitPerMinute: rate, tenantId: owner, timeoutMs } = subscription;
    const headers = {
      "User-Agent": userAgent,
      "WebHook-Request-Origin": origin,
      ...(rate !== undefined && { "WebHook-Request-Rate": String(rate) }),
    };
    const { originHeaders, terms } = access;
    const limits = { timeoutMs: Math.min(TIMEOUT_MS, timeoutMs), maxRedirects: 0 };
    client.request({ method: "OPTIONS", url, headers, originHeaders, terms, body: EMPTY, owner, ...limits }, (result) =>
      done(findProblem(result, origin, rate)),
    );
  }

  return {
    /** Calls `done` with the reason why nothing may be sent, or undefined. Asks again after a day. */
    ask(subscription: Subscription, url: string, access: PreparedAccess, done: Done): void {
      const before = known.get(subscription);
      if (before?.waiting !== undefined) return void before.waiting.push(done);
      if (before !== undefined && before.validUntil > clock.now()) return done(undefined);
      const asked: Known = { waiting: [done], validUntil: 0, handshake: before?.handshake ?? PENDING };
      known.set(subscription, asked);
      request(subscription, url, access, (problem) => {
        const { waiting = [] } = asked;
        asked.waiting = undefined;
        asked.validUntil = problem === undefined ? clock.now() + VALID_MS : 0;
        const answeredAt = clock.wall();
        if (problem === undefined) asked.handshake = { status: "accepted", answeredAt };
        else asked.handshake = { status: "refused", answeredAt, error: problem };
        for (const one of waiting) one(problem);
      });
    },
    find: (subscription: Subscription): Handshake => known.get(subscription)?.handshake ?? PENDING,
  };
}

function findProblem(result: HttpResult, origin: string, rate: number | undefined): string | undefined {
  if (result.kind !== "response") return `handshake: ${result.error}`;
  const { status, headers } = result;
  if (status < 200 || status > 299) return `handshake: answered ${status}`;
  const allowed = headers["webhook-allowed-origin"]?.trim();
  if (allowed !== "*" && allowed?.toLowerCase() !== origin.toLowerCase()) {
    const said = allowed === undefined ? "without WebHook-Allowed-Origin" : `for ${allowed} only`;
    return `handshake: the destination answered ${said}, not for ${origin}`;
  }
  const most = headers["webhook-allowed-rate"]?.trim();
  if (most === undefined || most === "*") return undefined;
  if (!/^\d{1,9}$/.test(most)) return `handshake: the destination answered with the rate ${JSON.stringify(most)}`;
  if (rate !== undefined && rate <= Number(most)) return undefined;
  return `handshake: the destination allows ${most} requests a minute; set rate_limit to ${most} or less`;
}
