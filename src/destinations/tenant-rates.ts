import { createTokenBucket, type TokenBucket } from "../model/token-bucket.ts";

/** A rate limit for each tenant, over all its subscriptions of one kind. Lanes wait for it as for their own limit. */
export type TenantRates = (tenantId: string, now: number) => TokenBucket;

/** With more tenants than this, the limits of idle tenants are forgotten. */
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
