import type { Clock } from "../../domain/clock.ts";
import { startRounds, type Rounds } from "../../domain/rounds.ts";
import type { ParkedCount } from "./facts.ts";

/** How many messages are parked beside the queue of each source, as their brokers last said. */
export interface ParkedCounts {
  start(): void;
  list(): readonly ParkedCount[];
  /** Whether its broker was asked, and has answered, since the start. */
  isCounted(source: string): boolean;
  isPulled(source: string): boolean;
  stop(): Promise<void>;
}

export interface ParkedCountsOptions {
  clock: Clock;
  /** Of sources that take from a queue. */
  listSources: () => readonly { name: string; tenantId: string }[];
  /** May reject: the broker is away, or there is no such queue. */
  count: (source: string) => Promise<number>;
  everyMs?: number | undefined;
}

const EVERY_MS = 60_000;

export function createParkedCounts({
  clock,
  listSources,
  count,
  everyMs = EVERY_MS,
}: ParkedCountsOptions): ParkedCounts {
  const counts = new Map<string, ParkedCount>();
  let rounds: Rounds | undefined;

  async function look(): Promise<void> {
    const known = listSources();
    const names = new Set(known.map(({ name }) => name));
    for (const name of counts.keys()) if (!names.has(name)) counts.delete(name);
    for (const { name, tenantId } of known) {
      // The last number stays: that a broker is away is told elsewhere.
      const parked = await count(name).catch(() => undefined);
      if (parked !== undefined) counts.set(name, { source: name, tenantId, count: parked });
    }
  }

  return {
    start() {
      let waitMs = 0;
      const next = () => {
        const now = waitMs;
        waitMs = everyMs;
        return now;
      };
      rounds = startRounds({ clock, everyMs: next, run: look, onFault: () => undefined });
    },
    list: () => [...counts.values()],
    isCounted: (source) => counts.has(source),
    isPulled: (source) => listSources().some(({ name }) => name === source),
    async stop() {
      await rounds?.stop();
    },
  };
}
