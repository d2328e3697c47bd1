import type { LoopLag } from "../accept/overload.ts";
import type { Alerts } from "../alerts/alerts.ts";
import { ageOf, createOldestOpenReader } from "../alerts/facts.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import type { PulledFacts } from "../intake/messages/pullers.ts";
import type { DiskWatch } from "../jobs/disk-watch.ts";
import type { FallbackDepths } from "../jobs/fallback-depths.ts";
import type { RetentionReport } from "../jobs/retention.ts";
import { countOpen } from "../model/delivery.ts";
import type { ErrorCode, PosthornError } from "../model/errors.ts";
import type { NamedConnection } from "../queues/connections.ts";
import type { Sources } from "../resources/sources/sources.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import { worstOf, type Targets } from "../resources/target-states.ts";
import type { DeliveryCounters } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { presentAs } from "./present.ts";
import { Connection, MissingSource, Retention, StatusTarget, Suspended } from "./routes/operation.ts";
import { presentQueue } from "./routes/sources.ts";
import { describeTarget, type TargetFacts } from "./routes/targets.ts";

export interface StatusOptions {
  /** The version of the gateway. */
  version: string;
  store: Store;
  scheduler: Scheduler;
  subscriptions: Subscriptions;
  targets: Pick<Targets, "list">;
  fallbackDepths: Pick<FallbackDepths, "sum">;
  sources: Pick<Sources, "list">;
  connections: { list(): readonly NamedConnection[] };
  pullers: { list(): readonly PulledFacts[] };
  disk: DiskWatch;
  loopLag: LoopLag;
  alerts: Pick<Alerts, "countActive" | "listRules">;
  metrics: Metrics;
  /** The size of the store's write-ahead log. */
  loadWalBytes: () => Promise<number>;
  findTrouble: () => PosthornError | undefined;
  reportRetention: (tenantId: string | undefined) => Promise<RetentionReport>;
}

/** Beyond this many, only targets in trouble are listed. */
const MAX_LISTED_TARGETS = 1000;
const MAX_LISTED_SOURCES = 100;
/** With more busy lanes than this, only this many are measured. */
const MAX_MEASURED_LANES = 200;

const SHOWN_TROUBLE: Partial<Record<ErrorCode, string>> = { shutting_down: "stopping", overloaded: "overloaded" };

export type Status = ReturnType<typeof createStatus>;

/** The gateway's reports about itself. */
export function createStatus(options: StatusOptions) {
  const { store, scheduler, subscriptions, disk, loopLag, metrics } = options;
  const oldestOpen = createOldestOpenReader(store, store.clock);

  function describeTargets(rows: readonly DeliveryCounters[], tenantId: string | undefined): TargetFacts[] {
    const open = new Map(rows.map((row) => [row.subscriptionSeq, countOpen(row)]));
    return options.targets.list(tenantId).map((known) => describeTarget(known, open));
  }

  /** With the age of each target's oldest delivery. */
  async function measureTargets(rows: readonly DeliveryCounters[]) {
    const open = new Map(rows.map((row) => [row.subscriptionSeq, countOpen(row)]));
    const oldest = await oldestOpen.look([...open.keys()].filter((seq) => (open.get(seq) ?? 0) > 0));
    const [now, wall] = [store.clock.now(), store.clock.wall()];
    const ages = new Map([...oldest].map(([seq, one]) => [seq, ageOf(one, now, wall)]));
    return options.targets.list(undefined).map((known) => ({
      ...describeTarget(known, open),
      oldestOpenS: Math.max(0, ...known.subscriptions.map(({ seq }) => ages.get(seq) ?? 0)),
    }));
  }

  /** How long the oldest delivery has waited; null when none waits. */
  async function measureOldest(rows: readonly DeliveryCounters[]): Promise<number | null> {
    const waiting = rows.filter((row) => countOpen(row) > 0).map(({ subscriptionSeq }) => subscriptionSeq);
    if (waiting.length === 0) return null;
    const [now, wall] = [store.clock.now(), store.clock.wall()];
    const oldest = await store.reads.findOldestOpen(waiting.slice(0, MAX_MEASURED_LANES), now);
    const ages = oldest.flatMap((one) => (one === undefined ? [] : [ageOf(one, now, wall)]));
    return ages.length === 0 ? null : Math.round(Math.max(...ages));
  }

  /** Problems that a healthy target does not know of: n8n workflows that are not active. */
  function describeMissing(tenantId: string | undefined) {
    return subscriptions
      .list(tenantId)
      .flatMap((subscription) =>
        scheduler
          .missingSources(subscription.seq)
          .map((one) => presentAs(MissingSource, { ...one, subscription: subscription.name, lastError: one.error })),
      );
  }

  function describeSuspended(tenantId: string | undefined) {
    const suspended = subscriptions.list(tenantId).filter(({ status }) => status === "suspended");
    return suspended.map(({ id, name, seq, heldBecause }) => {
      const { at: since, reason } = scheduler.findSuspension(seq) ?? {};
      return presentAs(Suspended, { id, subscription: name, since, reason: heldBecause ?? reason });
    });
  }

  return {
    /** Ready means that the next request is accepted; `trouble` says why it would not be. */
    readiness() {
      const trouble = options.findTrouble();
      const connections = options.connections.list();
      const isDegraded = trouble !== undefined || connections.some(isFailed);
      return {
        // People must free a full disk: a load balancer that moved the traffic would find no better gateway.
        trouble: trouble?.code === "store_full" ? undefined : trouble,
        report: {
          version: options.version,
          status: (trouble && SHOWN_TROUBLE[trouble.code]) ?? (isDegraded ? "degraded" : "ok"),
          store: { driver: store.info.driver, version: store.info.version, sync_mode: store.info.syncMode },
          queue: { driver: "local" },
          disk: { status: disk.isLow ? "low" : "ok", free_bytes: disk.freeBytes },
          connections: connections.map(({ kind, name, state }) => ({ kind, name, state: state.state })),
        },
      };
    },

    /** For the whole gateway, or for one tenant. */
    async status(tenantId: string | undefined) {
      const { deliveries } = await store.reads.loadCounters();
      const elsewhere = await options.fallbackDepths.sum(tenantId);
      const rows = tenantId === undefined ? deliveries : deliveries.filter((row) => row.tenantId === tenantId);
      const all = describeTargets(rows, tenantId);
      const suspended = describeSuspended(tenantId);
      const troubled = all.filter(({ mode, health }) => mode === "QUEUE" || health === "error");
      const listed = all.length <= MAX_LISTED_TARGETS ? all : troubled.slice(0, MAX_LISTED_TARGETS);
      const known = options.sources.list(tenantId);
      const names = new Set(known.map(({ source }) => source.name));
      const allConnections = options.connections.list();
      const queues = options.pullers.list().map((pulled) => presentQueue(pulled, allConnections));
      const cutOff = queues.filter(({ source, trouble }) => trouble !== null && names.has(source));
      // Connections belong to the gateway, and their errors name its hosts.
      const connections = tenantId === undefined ? allConnections : [];
      const isCutOff = cutOff.length > 0 || connections.some(isFailed);
      const isIll = isCutOff || suspended.length > 0 || all.some(({ health }) => health === "error");
      const retention = await options.reportRetention(tenantId);
      const conditions = all.map(({ condition }) => condition).filter((one) => one !== "paused");
      if (suspended.length > 0) conditions.push("suspended");
      if (isCutOff) conditions.push("failing");
      return {
        mode: all.some(({ mode }) => mode === "QUEUE") ? "QUEUE" : "NORMAL",
        queue_length: rows.reduce((sum, row) => sum + countOpen(row), 0) + elsewhere,
        last_error: all.find(({ lastError }) => lastError !== undefined)?.lastError ?? null,
        health: isIll ? "error" : "ok",
        condition: worstOf(conditions),
        oldest_open_s: await measureOldest(rows),
        active_alerts: options.alerts.countActive(tenantId ?? ""),
        targets: listed.map((target) => presentAs(StatusTarget, target)),
        // Details of a broker's problem are only for the operators of the gateway.
        sources: cutOff.slice(0, MAX_LISTED_SOURCES).map(({ source, trouble }) => ({
          name: source,
          health: "error",
          reason: tenantId === undefined ? trouble : "its queue cannot be used as it should now",
        })),
        connections: connections.map(describeConnection),
        suspended: suspended.slice(0, MAX_LISTED_TARGETS),
        missing_sources: describeMissing(tenantId).slice(0, MAX_LISTED_TARGETS),
        retention: presentAs(Retention, {
          ...retention,
          running: retention.isRunning,
          lastRunAt: retention.lastRun?.startedAt,
          lastResult: retention.lastRun?.result,
        }),
      };
    },

    async metrics() {
      const counters = await store.reads.loadCounters();
      const retention = await options.reportRetention(undefined);
      const text = await metrics.scrape({
        openDeliveries: counters.deliveries.reduce((sum, row) => sum + countOpen(row), 0),
        deadLetters: counters.deliveries.reduce((sum, row) => sum + row.deadLetters, 0),
        activeSubscriptions: subscriptions.list(undefined).filter(({ status }) => status === "active").length,
        inFlight: scheduler.inFlight,
        destinationsDown: [...scheduler.lanes()].filter(({ target }) => target.mode.isOpen).length,
        freeDiskBytes: disk.freeBytes,
        loopLagMs: loopLag.lagMs,
        walBytes: await options.loadWalBytes(),
        dueEvents: retention.dueEvents ?? 0,
        retentionBehindS: retention.behindS ?? 0,
        imbalance: await store.reads.findImbalance(),
        targets: await measureTargets(counters.deliveries),
        connections: options.connections
          .list()
          // Without a series: nobody waits for a connection that was never used.
          .filter(({ state }) => state.state !== "unused")
          .map((one) => ({ ...one, isConnected: one.state.state === "connected" })),
        queues: options.pullers.list(),
        alerts: options.alerts
          .listRules()
          .map(({ name, severity, active }) => ({ rule: name, severity, isActive: active !== undefined })),
      });
      return { text, contentType: metrics.contentType };
    },
  };
}

function isFailed({ state }: NamedConnection): boolean {
  return state.state === "failed";
}

function describeConnection({ kind, name, state }: NamedConnection) {
  const { fault, retryAt: nextTryAt } = { fault: undefined, retryAt: undefined, ...state };
  return presentAs(Connection, { kind, name, state: state.state, reason: fault?.message, nextTryAt });
}
