import { createTokenBucket, type TokenBucket } from "../model/token-bucket.ts";

/** With more tenants than this, the limits of idle tenants are forgotten. */
const MAX_TENANTS = 10_000;

/** A rate limit for each tenant, over all its subscriptions of one kind. Lanes wait for it as for their own limit. */
export function createTenantRates(perMinute: number) {
  const buckets = new Map<string, TokenBucket>();
  return (tenantId: string, now: number): TokenBucket => {
    let bucket = buckets.get(tenantId);
    if (bucket === undefined) {
      if (buckets.size >= MAX_TENANTS) {
        for (const [id, known] of buckets) if (known.fullAt(now) <= now) buckets.delete(id);
      }
      buckets.set(tenantId, (bucket = createTokenBucket(perMinute / 60, now)));
    }
    return bucket;
  };
}

interface Known {
  /** When the last `max` messages went or will go, in order. */
  turns: number[];
  /** The turns of waiting messages by delivery id; the earliest first. */
  promised: Map<string, number>;
}

/** With more numbers than this, those without recent messages are forgotten. */
const MAX_NUMBERS = 10_000;
/** Maximum number of messages that wait for one number with a turn. Further ones wait too, and ask for a turn again. */
const MAX_PROMISED = 100_000;

/**
 * Limits the messages of one tenant to one number in any period. A message that comes too early gets a turn, which it
 * keeps until it comes again: so each delivery of a flood costs one more attempt, and not one attempt after another.
 * Tenants have turns of their own: otherwise a flood of one would hold up the messages of another, and tell of them.
 */
export function createNumberTurns({ max, windowMs }: { max: number; windowMs: number }) {
  const known = new Map<string, Known>();

  function find({ tenantId, number }: { tenantId: string; number: string }, now: number): Known {
    const key = `${number} ${tenantId}`;
    let one = known.get(key);
    if (one === undefined) {
      if (known.size >= MAX_NUMBERS) forget(now);
      known.set(key, (one = { turns: [], promised: new Map() }));
    }
    return one;
  }

  function forget(now: number): void {
    for (const [key, { turns }] of known) if ((turns.at(-1) ?? 0) + windowMs <= now) known.delete(key);
  }

  /** Drops the turns of deliveries that did not come back: they were cancelled or are held. */
  function dropMissed({ promised }: Known, now: number): void {
    for (const [id, at] of promised) {
      if (at + windowMs > now) return;
      promised.delete(id);
    }
  }

  function takeTurn({ turns }: Known, now: number): number {
    const oldest = turns.length < max ? undefined : turns[turns.length - max];
    const at = oldest === undefined ? now : Math.max(now, oldest + windowMs);
    turns.push(at);
    if (turns.length > max) turns.shift();
    return at;
  }

  return {
    /** 0 when the message may go now; otherwise how long it has to wait, in ms. */
    ask(to: { tenantId: string; number: string }, deliveryId: string, now: number): number {
      const one = find(to, now);
      dropMissed(one, now);
      const promised = one.promised.get(deliveryId);
      if (promised !== undefined) {
        if (promised <= now) one.promised.delete(deliveryId);
        return Math.max(0, promised - now);
      }
      if (one.promised.size >= MAX_PROMISED) return windowMs;
      const at = takeTurn(one, now);
      if (at > now) one.promised.set(deliveryId, at);
      return at - now;
    },
  };
}
