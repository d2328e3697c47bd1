import type { Clock } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import type { Undrained } from "../deliver/fallback.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { Damage, DeliveryCounters, OldestOpen, Reads } from "../store/port/reads.ts";
import { createOldestOpenReader } from "./oldest-open.ts";
import { GATEWAY_TENANT } from "../model/event.ts";
import type { DiskWatch } from "../jobs/disk-watch.ts";
import type { KnownTarget, Targets } from "../resources/target-states.ts";
import type { BrokenFile } from "../resources/validations/mirrored-validations.ts";
import type { ParkedCounts } from "./parked-counts.ts";
import type { AttemptWindow } from "./attempt-window.ts";

/** The input of the rules: counters of the store and facts in memory, read once for each evaluation. */
export interface Facts {
  readonly wall: number;
  readonly now: number;
  /** Without those that alerts are sent to: a failing channel is not a cause of an alert. */
  readonly subscriptions: readonly Subscription[];
  /** By the length of the window in seconds. */
  readonly attempts: ReadonlyMap<number, AttemptWindow>;
  readonly counters: ReadonlyMap<number, DeliveryCounters>;
  readonly targets: readonly KnownTarget[];
  readonly oldestOpen: ReadonlyMap<number, OldestOpen>;
  /** How many key queues are blocked by a dead letter; only where there are any. */
  readonly blockedKeys: ReadonlyMap<number, number>;
  readonly disk: Pick<DiskWatch, "isLow" | "freeBytes">;
  readonly undrained: readonly Undrained[];
  readonly disabledSources: readonly DisabledSource[];
  readonly parked: readonly ParkedCount[];
  readonly brokenFiles: readonly BrokenFile[];
  readonly certificates: readonly NotedCertificate[];
  readonly damages: readonly Damage[];
  readonly overdueSecrets: readonly Subscription[];
  /** Whether the source's broker has reported how many messages are parked. */
  isCounted(source: string): boolean;
  isPulled(source: string): boolean;
  /** It has open deliveries, but they have not been examined yet. */
  isUnseen(subscriptionSeq: number): boolean;
  isFailing(subscription: Subscription): boolean;
  findSuspensionReason(subscription: Subscription): string | undefined;
}

export interface DisabledSource {
  source: string;
  tenantId: string;
  reason: string;
}

export interface ParkedCount {
  source: string;
  tenantId: string;
  count: number;
}

export interface NotedCertificate {
  /** With the port, unless it is the default one. */
  host: string;
  /** In wall time. */
  notAfter: number;
}

export function createFactsReader(options: {
  clock: Clock;
  store: { reads: Pick<Reads, "loadCounters" | "findOldestOpen" | "countBlockedKeys" | "listDamages"> };
  subscriptions: Pick<Subscriptions, "list">;
  targets: Pick<Targets, "list">;
  scheduler: Pick<Scheduler, "isFailing" | "findSuspension">;
  attempts: ReadonlyMap<number, AttemptWindow>;
  disk: Pick<DiskWatch, "isLow" | "freeBytes">;
  drain: { listUndrained(): Promise<readonly Undrained[]> };
  listDisabledSources: () => readonly DisabledSource[];
  parked: Pick<ParkedCounts, "list" | "isCounted" | "isPulled">;
  listBrokenFiles: () => readonly BrokenFile[];
  listCertificates: () => readonly NotedCertificate[];
  listOverdueSecrets: () => readonly Subscription[];
}): () => Promise<Facts> {
  const { clock, store, subscriptions, targets, scheduler, attempts, disk } = options;
  const oldest = createOldestOpenReader(store, clock);

  async function countBlocked(
    all: readonly Subscription[],
    counters: ReadonlyMap<number, DeliveryCounters>,
  ): Promise<Map<number, number>> {
    const seqs = all
      .filter(({ seq, ordered, onDeadHead }) => {
        return ordered && onDeadHead === "block" && (counters.get(seq)?.deadLetters ?? 0) > 0;
      })
      .map(({ seq }) => seq);
    if (seqs.length === 0) return new Map();
    const counts = await store.reads.countBlockedKeys(seqs);
    return new Map(seqs.map((seq, n) => [seq, counts[n] ?? 0]));
  }

  return async () => {
    const all = subscriptions.list(undefined).filter(isOrdinary);
    const { deliveries } = await store.reads.loadCounters();
    const counters = new Map(deliveries.map((row) => [row.subscriptionSeq, row]));
    const waiting = all.filter(({ seq, status }) => status === "active" && openOf(counters.get(seq)) > 0);
    const oldestOpen = await oldest.look(waiting.map(({ seq }) => seq));
    const blockedKeys = await countBlocked(all, counters);
    return {
      wall: clock.wall(),
      now: clock.now(),
      subscriptions: all,
      attempts,
      counters,
      targets: targets
        .list(undefined)
        .filter(({ tenantId, subscriptions: users }) => tenantId !== GATEWAY_TENANT || users.some(isOrdinary)),
      oldestOpen,
      blockedKeys,
      disk,
      undrained: await options.drain.listUndrained(),
      disabledSources: options.listDisabledSources(),
      parked: options.parked.list(),
      isCounted: options.parked.isCounted,
      isPulled: options.parked.isPulled,
      isUnseen: (seq) => !oldest.hasSeen(seq) && openOf(counters.get(seq)) > 0,
      brokenFiles: options.listBrokenFiles(),
      certificates: options.listCertificates(),
      damages: await store.reads.listDamages(),
      overdueSecrets: options.listOverdueSecrets().filter(isOrdinary),
      isFailing: ({ seq }) => scheduler.isFailing(seq),
      findSuspensionReason: ({ seq }) => scheduler.findSuspension(seq)?.reason,
    };
  };
}

/** The gateway's other subscriptions carry the alerts themselves. */
function isOrdinary({ tenantId, tenants, managedBy }: Subscription): boolean {
  return (tenantId !== GATEWAY_TENANT || tenants !== undefined) && managedBy !== "contact";
}

function openOf(row: DeliveryCounters | undefined): number {
  return row === undefined ? 0 : row.created - row.delivered - row.dead - row.cancelled;
}
