import type { Clock } from "../model/clock.ts";
import { startRounds, type Rounds } from "../model/rounds.ts";
import type { ParkedCount } from "./facts.ts";

/** How many messages are parked for each source, as the brokers last reported. */
export type ParkedCounts = ReturnType<typeof createParkedCounts>;

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
  const counts = new Map<string, ParkedCount>();
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
