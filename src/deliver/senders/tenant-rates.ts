import { createTokenBucket, type TokenBucket } from "../../domain/token-bucket.ts";

/** A rate for each tenant, over all of its subscriptions of a kind: lanes wait for it like for their own. */
export type TenantRates = (tenantId: string, now: number) => TokenBucket;

/** From so many on, those of tenants that have been quiet are forgotten. */
const MAX_TENANTS = 10_000;

export function createTenantRates(perMinute: number): TenantRates {
  const buckets = new Map<string, TokenBucket>();
  return (tenantId, now) => {
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
