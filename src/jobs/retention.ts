import type { Clock } from "../model/clock.ts";
import { agesOf, type RetentionDays } from "../model/retention.ts";
import type { JobRun, RetentionRules } from "../store/port/jobs.ts";
import type { Store } from "../store/store.ts";
import type { Jobs } from "./jobs.ts";
import { PRUNE_EVENTS } from "./prune-jobs.ts";
import type { TenantChange } from "../resources/tenants.ts";

/** How long events are kept, for the gateway and for tenants with their own times. */
export type RetentionTimes = ReturnType<typeof createRetentionTimes>;

export function createRetentionTimes(set: RetentionDays) {
  const gateway = agesOf(set);
  const tenants = new Map<string, RetentionRules["gateway"]>();
  return {
    rules: () => ({ gateway, tenants: [...tenants] }),
    /** The times of a tenant, or the default times. */
    find: (tenantId: string | undefined) => (tenantId === undefined ? gateway : (tenants.get(tenantId) ?? gateway)),
    update(changes: readonly TenantChange[]): void {
      for (const { id, tenant } of changes) {
        if (tenant === undefined || Object.keys(tenant.retention).length === 0) tenants.delete(id);
        else tenants.set(id, agesOf(tenant.retention, gateway));
      }
    },
  };
}

/** The progress of the deletion of old events. */
export interface RetentionReport {
  /** Null when events are kept forever. */
  days: number | null;
  /** For the whole log, like the numbers below; null for callers who may see only one tenant. */
  oldestEventAt: number | null;
  /** About how many events are due for deletion, by the gateway's own retention time. */
  dueEvents: number | null;
  /** Everything that was due at this time has been deleted. */
  completeUntil: number | null;
  behindS: number | null;
  /** Estimated from the speed of the last run; null when that is unknown. */
  remainingS: number | null;
  isRunning: boolean;
  lastRun: JobRun | undefined;
}

const DAY_MS = 86_400_000;

export async function reportRetention(
  options: {
    store: Pick<Store, "reads">;
    jobs: Pick<Jobs, "list">;
    times: RetentionTimes;
    clock: Pick<Clock, "wall">;
  },
  tenantId: string | undefined,
): Promise<RetentionReport> {
  const { store, jobs, times, clock } = options;
  const { events: age } = times.find(tenantId);
  const job = (await jobs.list()).find(({ name }) => name === PRUNE_EVENTS);
  const runs = job?.runs ?? [];
  const lastRun = runs.find(({ result }) => result !== "running");
  const completeUntil = runs.find(({ result }) => result === "success")?.startedAt ?? null;
  const report = {
    days: Number.isFinite(age) ? age / DAY_MS : null,
    completeUntil,
    isRunning: job?.isRunning ?? false,
    lastRun,
  };
  if (tenantId !== undefined) {
    return { ...report, oldestEventAt: null, dueEvents: null, behindS: null, remainingS: null };
  }
  const wall = clock.wall();
  const until = Number.isFinite(age) ? wall - age : 0;
  const since = completeUntil === null || !Number.isFinite(age) ? 0 : completeUntil - age;
  const { oldestReceivedAt, received } = await store.reads.findEventSpan(since, until);
  const dueSince = completeUntil ?? (oldestReceivedAt === undefined ? wall : oldestReceivedAt + age);
  return {
    ...report,
    oldestEventAt: oldestReceivedAt ?? null,
    dueEvents: received,
    behindS: received === 0 ? 0 : Math.max(0, Math.round((wall - dueSince) / 1000)),
    remainingS: remainingOf(received, lastRun),
  };
}

function remainingOf(due: number, run: JobRun | undefined): number | null {
  if (due === 0) return 0;
  if (run?.endedAt === undefined || run.summary === undefined) return null;
  const { events = 0 } = JSON.parse(run.summary) as { events?: number };
  const tookMs = Math.max(1, run.endedAt - run.startedAt);
  return events === 0 ? null : Math.ceil((due * tookMs) / events / 1000);
}
