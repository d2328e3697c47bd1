import { type Clock, startRounds, type Rounds } from "../model/clock.ts";
import { countOpen } from "../model/delivery.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import type { Undrained } from "../deliver/fallback-drain.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { DeliveryCounters, OldestOpen, Reads } from "../store/port/reads.ts";
import { GATEWAY_TENANT } from "../model/event.ts";
import type { DiskWatch } from "../jobs/disk-watch.ts";
import type { Targets } from "../resources/target-states.ts";
import type { BrokenFile } from "../resources/validations/validation-folder.ts";
import type { AttemptWindow } from "./attempt-window.ts";
import type { Store } from "../store/store.ts";

/** The input of the rules: counters of the store and facts in memory, read once for each evaluation. */
export type Facts = Awaited<ReturnType<ReturnType<typeof createFactsReader>>>;

export interface DisabledSource {
  source: string;
  tenantId: string;
  reason: string;
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
  /** `host` with the port, unless it is the default one; `notAfter` in wall time. */
  listCertificates: () => readonly { host: string; notAfter: number }[];
  listOverdueSecrets: () => readonly Subscription[];
}) {
  const { clock, store, subscriptions, targets, scheduler, attempts, disk } = options;
  const oldest = createOldestOpenReader(store, clock);

  async function countBlocked(
    all: readonly Subscription[],
    counters: ReadonlyMap<number, DeliveryCounters>,
  ): Promise<Map<number, number>> {
    const mayBlock = all.filter(({ ordered, onDeadHead }) => ordered && onDeadHead === "block");
    const seqs = mayBlock.map(({ seq }) => seq).filter((seq) => (counters.get(seq)?.deadLetters ?? 0) > 0);
    if (seqs.length === 0) return new Map();
    const counts = await store.reads.countBlockedKeys(seqs);
    return new Map(seqs.map((seq, n) => [seq, counts[n] ?? 0]));
  }

  return async () => {
    const all = subscriptions.list(undefined).filter(isOrdinary);
    const { deliveries } = await store.reads.loadCounters();
    const counters = new Map(deliveries.map((row) => [row.subscriptionSeq, row]));
    const waiting = all.filter(({ seq, status }) => status === "active" && countOpen(counters.get(seq)) > 0);
    const oldestOpen = await oldest.look(waiting.map(({ seq }) => seq));
    const blockedKeys = await countBlocked(all, counters);
    return {
      wall: clock.wall(),
      now: clock.now(),
      /** Without those that alerts are sent to: a failing channel is not a cause of an alert. */
      subscriptions: all,
      /** By the length of the window in seconds. */
      attempts,
      counters,
      targets: targets
        .list(undefined)
        .filter(({ tenantId, subscriptions: users }) => tenantId !== GATEWAY_TENANT || users.some(isOrdinary)),
      oldestOpen,
      /** How many key queues are blocked by a dead letter; only where there are any. */
      blockedKeys,
      disk,
      undrained: await options.drain.listUndrained(),
      disabledSources: options.listDisabledSources(),
      parked: options.parked.list(),
      /** Whether the source's broker has reported how many messages are parked. */
      isCounted: options.parked.isCounted,
      isPulled: options.parked.isPulled,
      /** It has open deliveries, but they have not been examined yet. */
      isUnseen: (seq: number) => !oldest.hasSeen(seq) && countOpen(counters.get(seq)) > 0,
      brokenFiles: options.listBrokenFiles(),
      certificates: options.listCertificates(),
      damages: await store.reads.listDamages(),
      overdueSecrets: options.listOverdueSecrets().filter(isOrdinary),
      isFailing: ({ seq }: Subscription) => scheduler.isFailing(seq),
      findSuspensionReason: ({ seq }: Subscription) => scheduler.findSuspension(seq)?.reason,
    };
  };
}

/** The gateway's other subscriptions carry the alerts themselves. */
function isOrdinary({ tenantId, tenants, managedBy }: Subscription): boolean {
  return (tenantId !== GATEWAY_TENANT || tenants !== undefined) && managedBy !== "contact";
}

const MAX_LANES = 200;

/** Examines a part of the lanes at a time, in turn, so that many lanes cost no more than a few. */
export function createOldestOpenReader(
  store: { reads: Pick<Store["reads"], "findOldestOpen"> },
  clock: Pick<Clock, "now">,
) {
  let from = 0;
  let known = new Map<number, OldestOpen>();
  const seen = new Set<number>();
  return {
    /** The oldest open delivery of each of these subscriptions; those without one are left out. */
    async look(seqs: readonly number[]): Promise<ReadonlyMap<number, OldestOpen>> {
      const isMeant = new Set(seqs);
      known = new Map([...known].filter(([seq]) => isMeant.has(seq)));
      if (from >= seqs.length) from = 0;
      const some = seqs.slice(from, from + MAX_LANES);
      from += MAX_LANES;
      const found = some.length === 0 ? [] : await store.reads.findOldestOpen(some, clock.now());
      some.forEach((seq, index) => {
        seen.add(seq);
        const oldest = found[index];
        if (oldest === undefined) known.delete(seq);
        else known.set(seq, oldest);
      });
      return known;
    },
    /** Whether its turn has come already. */
    hasSeen: (seq: number) => seen.has(seq),
  };
}

/** In seconds. A delivery that was never tried may have been requested later: it waits since it was due. */
export function ageOf({ isUntried, dueAt, receivedAt }: OldestOpen, now: number, wall: number): number {
  return Math.max(0, (isUntried ? now - dueAt : wall - receivedAt) / 1000);
}

/** How many messages are parked for each source, as the brokers last reported. */
type ParkedCounts = ReturnType<typeof createParkedCounts>;

const EVERY_MS = 60_000;

export function createParkedCounts(options: {
  clock: Clock;
  /** The sources that read from a queue. */
  listSources: () => readonly { name: string; tenantId: string }[];
  /** May reject, when the broker cannot be reached or the queue does not exist. */
  count: (source: string) => Promise<number>;
  everyMs?: number | undefined;
}) {
  const { clock, listSources, count, everyMs = EVERY_MS } = options;
  const counts = new Map<string, { source: string; tenantId: string; count: number }>();
  let rounds: Rounds | undefined;

  async function look(): Promise<void> {
    const known = listSources();
    const names = new Set(known.map(({ name }) => name));
    for (const name of counts.keys()) if (!names.has(name)) counts.delete(name);
    for (const { name, tenantId } of known) {
      // Keep the last number: a broker that cannot be reached is reported elsewhere.
      const parked = await count(name).catch(() => undefined);
      if (parked !== undefined) counts.set(name, { source: name, tenantId, count: parked });
    }
  }

  return {
    start(): void {
      let waitMs = 0;
      const next = () => {
        const now = waitMs;
        waitMs = everyMs;
        return now;
      };
      rounds = startRounds({ clock, everyMs: next, run: look, onFault: () => undefined });
    },
    list: () => [...counts.values()],
    /** Whether its broker has answered since the start. */
    isCounted: (source: string) => counts.has(source),
    isPulled: (source: string) => listSources().some(({ name }) => name === source),
    async stop(): Promise<void> {
      await rounds?.stop();
    },
  };
}
