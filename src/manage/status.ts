import type { Scheduler } from "../deliver/scheduler.ts";
import type { DeliveryCounters, Store } from "../store/store.ts";
import type { LoopLag } from "../telemetry/loop-lag.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { DiskWatch } from "./disk-watch.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** What the gateway says about itself. */
export interface Status {
  readiness(): Promise<{ isReady: boolean; report: object }>;
  /** Of the whole gateway, or of what belongs to one tenant. */
  status(tenantId: string | undefined): Promise<object>;
  metrics(): Promise<{ text: string; contentType: string }>;
}

export interface StatusOptions {
  store: Store;
  scheduler: Scheduler;
  subscriptions: Subscriptions;
  disk: DiskWatch;
  loopLag: LoopLag;
  metrics: Metrics;
  isReady: () => boolean;
}

/** Beyond this many, only targets in trouble are listed. */
const MAX_LISTED_TARGETS = 1000;

export function createStatus(options: StatusOptions): Status {
  const { store, scheduler, subscriptions, disk, loopLag, metrics } = options;

  function describeTargets(rows: readonly DeliveryCounters[], tenantId: string | undefined) {
    const bySubscription = new Map(rows.map((row) => [row.subscriptionSeq, row]));
    const all = subscriptions.list(tenantId).map((subscription) => {
      const breaker = scheduler.findBreaker(subscription.seq);
      const isOpen = breaker?.isOpen === true;
      return {
        name: subscription.name,
        mode: isOpen ? "QUEUE" : "NORMAL",
        since: isOpen ? new Date(breaker.openedAt).toISOString() : null,
        reason: isOpen ? (breaker.lastError ?? null) : null,
        health: isOpen ? "error" : "ok",
        queue_length: openOf(bySubscription.get(subscription.seq)),
        failures: breaker?.failures ?? 0,
        last_error: breaker?.lastError ?? null,
      };
    });
    return all.length <= MAX_LISTED_TARGETS
      ? all
      : all.filter(({ mode }) => mode === "QUEUE").slice(0, MAX_LISTED_TARGETS);
  }

  return {
    async readiness() {
      const isDegraded = disk.isLow;
      return {
        isReady: options.isReady(),
        report: {
          status: options.isReady() ? (isDegraded ? "degraded" : "ok") : "stopping",
          store: { driver: store.info.driver, version: store.info.version, sync_mode: store.info.syncMode },
          queue: { driver: "local" },
          disk: { status: disk.isLow ? "low" : "ok", free_bytes: disk.freeBytes },
        },
      };
    },

    async status(tenantId) {
      const { deliveries } = await store.loadCounters();
      const rows = tenantId === undefined ? deliveries : deliveries.filter((row) => row.tenantId === tenantId);
      const targets = describeTargets(rows, tenantId);
      const troubled = targets.find(({ mode }) => mode === "QUEUE");
      return {
        mode: troubled === undefined ? "NORMAL" : "QUEUE",
        queue_length: rows.reduce((sum, row) => sum + openOf(row), 0),
        last_error: targets.find(({ last_error }) => last_error !== null)?.last_error ?? null,
        health: troubled === undefined ? "ok" : "error",
        targets,
      };
    },

    async metrics() {
      const counters = await store.loadCounters();
      const text = await metrics.scrape({
        openDeliveries: counters.deliveries.reduce((sum, row) => sum + openOf(row), 0),
        deadLetters: counters.deliveries.reduce((sum, row) => sum + row.dead, 0),
        activeSubscriptions: subscriptions.list(undefined).filter(({ status }) => status === "active").length,
        inFlight: scheduler.inFlight,
        openBreakers: [...scheduler.lanes()].filter(({ breaker }) => breaker.isOpen).length,
        freeDiskBytes: disk.freeBytes,
        loopLagMs: loopLag.lagMs,
        imbalance: await store.findImbalance(),
      });
      return { text, contentType: metrics.contentType };
    },
  };
}

function openOf(row: DeliveryCounters | undefined): number {
  return row === undefined ? 0 : row.created - row.delivered - row.dead - row.cancelled;
}
