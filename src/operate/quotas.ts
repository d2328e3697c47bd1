import type { Clock, Timer } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import type { EventOrigin } from "../domain/event.ts";
import type { Tenant } from "../domain/tenant.ts";
import { createTokenBucket, type TokenBucket } from "../domain/token-bucket.ts";
import type { Meter, MeteredEvent } from "../route/ingest.ts";
import type { Store } from "../store/store.ts";
import type { TenantChange } from "../registry/tenants.ts";

/** What tenants may take in. The subscriptions' quota is the store's: it counts them where it adds them. */
export interface QuotaGate {
  /** Undefined for a tenant without limits, as most are: then an event costs no more than this look. */
  find(tenantId: string): Meter | undefined;
  /** In force when it resolves. */
  update(changes: readonly TenantChange[]): Promise<void>;
  stop(): void;
}

export interface QuotaGateOptions {
  store: Pick<Store, "reads">;
  clock: Clock;
  onFault: (error: unknown) => void;
}

/** What deliveries that end give back is seen after this time; what comes in is counted at once. */
const REFRESH_MS = 2000;
const RETRY_AFTER_S = { open_deliveries: 10, stored_bytes: 60, inactive: 60 };

interface Limited extends Meter {
  tenant: Tenant;
  bucket: TokenBucket | undefined;
  openDeliveries: number;
  storedBytes: number;
  /** Taken, and not yet known to be stored. */
  pendingBytes: number;
}

export function createQuotaGate({ store, clock, onFault }: QuotaGateOptions): QuotaGate {
  const limited = new Map<string, Limited>();
  let timer: Timer | undefined;
  let isStopped = false;

  function createMeter(tenant: Tenant): Limited {
    const meter: Limited = {
      tenant,
      bucket: createBucket(tenant),
      openDeliveries: 0,
      storedBytes: 0,
      pendingBytes: 0,
      refuse(event) {
        const refusal = findRefusal(meter, event);
        if (refusal !== undefined) return refusal;
        meter.bucket?.take(clock.now());
        meter.pendingBytes += event.body.length;
        return undefined;
      },
      end(event, stored) {
        meter.pendingBytes -= event.body.length;
        if (stored === undefined) return;
        meter.storedBytes += event.body.length;
        meter.openDeliveries += stored.deliveries;
      },
    };
    return meter;
  }

  /** A minute's worth at once: whoever may send 600 in a minute may send them together. */
  function createBucket({ quotas: { eventsPerMinute } }: Tenant): TokenBucket | undefined {
    if (eventsPerMinute === undefined) return undefined;
    return createTokenBucket(eventsPerMinute / 60, clock.now(), eventsPerMinute);
  }

  function findRefusal(meter: Limited, { origin, body }: MeteredEvent): PosthornError | undefined {
    const { tenant, bucket } = meter;
    const { id, quotas } = tenant;
    if (tenant.status !== "active") {
      return new PosthornError("tenant_inactive", `The tenant ${id} is not active. Try again later.`, {
        retryAfterS: RETRY_AFTER_S.inactive,
      });
    }
    if (quotas.openDeliveries !== undefined && meter.openDeliveries >= quotas.openDeliveries) {
      return overQuota(origin, id, "open_deliveries", quotas.openDeliveries);
    }
    if (quotas.storedBytes !== undefined && meter.storedBytes + meter.pendingBytes + body.length > quotas.storedBytes) {
      return overQuota(origin, id, "stored_bytes", quotas.storedBytes);
    }
    const waitMs = bucket === undefined ? 0 : bucket.readyAt(clock.now()) - clock.now();
    if (waitMs <= 0) return undefined;
    const message = `The tenant ${id} may send ${quotas.eventsPerMinute} events per minute. Send more slowly.`;
    return new PosthornError(origin === "webhook" ? "tenant_throttled" : "too_many_requests", message, {
      retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
      details: { quota: "events_per_minute", limit: quotas.eventsPerMinute },
    });
  }

  function needsUsage({ tenant: { quotas } }: Limited): boolean {
    return quotas.openDeliveries !== undefined || quotas.storedBytes !== undefined;
  }

  async function refresh(meters: readonly Limited[]): Promise<void> {
    const ids = meters.filter(needsUsage).map(({ tenant }) => tenant.id);
    if (ids.length === 0) return;
    for (const usage of await store.reads.loadTenantUsage(ids)) {
      const meter = limited.get(usage.tenantId);
      if (meter === undefined) continue;
      meter.openDeliveries = usage.openDeliveries;
      meter.storedBytes = usage.storedBytes;
    }
  }

  function schedule(): void {
    if (isStopped || timer !== undefined || ![...limited.values()].some(needsUsage)) return;
    timer = clock.setTimer(clock.now() + REFRESH_MS, () => {
      refresh([...limited.values()])
        // A store that is closed under it is no fault.
        .catch((error: unknown) => isStopped || onFault(error))
        .finally(() => {
          timer = undefined;
          schedule();
        });
    });
  }

  function change(id: string, tenant: Tenant | undefined): Limited | undefined {
    if (tenant === undefined || !isLimited(tenant)) {
      limited.delete(id);
      return undefined;
    }
    let meter = limited.get(id);
    if (meter === undefined) {
      limited.set(id, (meter = createMeter(tenant)));
    } else {
      const isSameRate = meter.tenant.quotas.eventsPerMinute === tenant.quotas.eventsPerMinute;
      meter.tenant = tenant;
      // Else a change of anything else would fill it up.
      if (!isSameRate) meter.bucket = createBucket(tenant);
    }
    return meter;
  }

  return {
    find: (tenantId) => limited.get(tenantId),
    async update(changes) {
      const changed = changes.map(({ id, tenant }) => change(id, tenant)).filter((meter) => meter !== undefined);
      await refresh(changed);
      schedule();
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}

function isLimited({ status, quotas }: Tenant): boolean {
  const { eventsPerMinute, openDeliveries, storedBytes } = quotas;
  return status !== "active" || (eventsPerMinute ?? openDeliveries ?? storedBytes) !== undefined;
}

/** A provider that gets 4xx drops the event: only who publishes is told that it asks too much. */
function overQuota(
  origin: EventOrigin,
  id: string,
  quota: "open_deliveries" | "stored_bytes",
  limit: number,
): PosthornError {
  const what = quota === "open_deliveries" ? `${limit} open deliveries` : `${limit} bytes stored`;
  return new PosthornError(
    origin === "webhook" ? "tenant_over_quota" : "quota_exceeded",
    `The tenant ${id} may have ${what}, and cannot take more now.`,
    { retryAfterS: RETRY_AFTER_S[quota], details: { quota, limit } },
  );
}
