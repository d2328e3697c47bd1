import type { Clock, Timer } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import type { EventOrigin } from "../model/event.ts";
import type { Tenant } from "../model/tenant.ts";
import { createTokenBucket, type TokenBucket } from "../model/token-bucket.ts";
import type { Meter, MeteredEvent } from "./ingest.ts";
import type { Store } from "../store/store.ts";
import type { TenantChange } from "../resources/tenants.ts";

interface QuotaGateOptions {
  store: Pick<Store, "reads">;
  clock: Clock;
  onFault: (error: unknown) => void;
}

/** Ended deliveries are noticed after this time; new events are counted immediately. */
const REFRESH_MS = 2000;
const RETRY_AFTER_S = { open_deliveries: 10, stored_bytes: 60, inactive: 60 };

interface Limited extends Meter {
  tenant: Tenant;
  bucket: TokenBucket | undefined;
  openDeliveries: number;
  storedBytes: number;
  /** Bytes of events that are accepted but not yet stored. */
  pendingBytes: number;
}

/** The limits for events of tenants. The quota of subscriptions is checked where they are created. */
export function createQuotaGate({ store, clock, onFault }: QuotaGateOptions) {
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
      begin(event) {
        const rejection = findRejection(meter, event);
        if (rejection !== undefined) return rejection;
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

  /** The bucket holds one minute: a tenant with 600 events a minute may send them all at once. */
  function createBucket({ quotas: { eventsPerMinute } }: Tenant): TokenBucket | undefined {
    if (eventsPerMinute === undefined) return undefined;
    return createTokenBucket(eventsPerMinute / 60, clock.now(), eventsPerMinute);
  }

  function findRejection(meter: Limited, { origin, body }: MeteredEvent): PosthornError | undefined {
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
        // An error because the store was closed is not a fault.
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
      // Otherwise every change of another setting would refill the bucket.
      if (!isSameRate) meter.bucket = createBucket(tenant);
    }
    return meter;
  }

  return {
    /** Undefined for tenants without limits, as most are: then an event costs only this lookup. */
    find: (tenantId: string): Meter | undefined => limited.get(tenantId),
    /** In force when it resolves. */
    async update(changes: readonly TenantChange[]): Promise<void> {
      const changed = changes.map(({ id, tenant }) => change(id, tenant)).filter((meter) => meter !== undefined);
      await refresh(changed);
      schedule();
    },
    stop(): void {
      isStopped = true;
      timer?.cancel();
    },
  };
}

function isLimited({ status, quotas }: Tenant): boolean {
  const { eventsPerMinute, openDeliveries, storedBytes } = quotas;
  return status !== "active" || (eventsPerMinute ?? openDeliveries ?? storedBytes) !== undefined;
}

/** A provider that gets 4xx drops the event: only publishers get 429. */
function overQuota(
  origin: EventOrigin,
  id: string,
  quota: "open_deliveries" | "stored_bytes",
  limit: number,
): PosthornError {
  const what = quota === "open_deliveries" ? `${limit} open deliveries` : `${limit} bytes stored`;
  return new PosthornError(
    origin === "webhook" ? "tenant_over_quota" : "quota_exceeded",
    `The tenant ${id} may have ${what}, and accepts no more now.`,
    { retryAfterS: RETRY_AFTER_S[quota], details: { quota, limit } },
  );
}
