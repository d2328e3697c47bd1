import type { Clock } from "../model/clock.ts";
import type { Store } from "../store/store.ts";
import type { PeriodicJob } from "./jobs.ts";

const HOUR_MS = 3_600_000;

export function createAuditJobs(options: {
  store: Pick<Store, "audit" | "jobs">;
  clock: Pick<Clock, "wall">;
  /** Infinity keeps the entries forever. */
  keptMs: number;
  /** Writes the head to a place that somebody who can write the database cannot change. */
  onAnchor: (anchor: { seq: number; hash: string }) => void;
}): PeriodicJob[] {
  const { store, clock, keptMs, onAnchor } = options;
  let anchored = 0;
  return [
    {
      name: "anchor-audit",
      description:
        "Writes the head of the audit log into the gateway's own log, so that a rollback of the audit log is noticed",
      everyMs: HOUR_MS,
      async run() {
        const { head } = await store.audit.read(Number.MAX_SAFE_INTEGER, 1);
        if (head === undefined || head.seq === anchored) return { summary: { anchored: 0 } };
        onAnchor({ seq: head.seq, hash: head.hash });
        anchored = head.seq;
        return { summary: { anchored: head.seq } };
      },
    },
    {
      name: "prune-audit",
      description: "Deletes entries of the audit log after their retention time, and leaves a signed checkpoint",
      everyMs: 24 * HOUR_MS,
      async run({ shouldStop }) {
        const before = clock.wall() - keptMs;
        let removed = 0;
        for (let isEnd = !Number.isFinite(before); !isEnd && !shouldStop();) {
          const step = await store.jobs.prune({ of: "audit", before });
          removed += step.removed;
          isEnd = step.isEnd;
        }
        return { summary: { removed } };
      },
    },
  ];
}
