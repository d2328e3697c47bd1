import type { Clock } from "../../model/clock.ts";
import { startRounds } from "../../model/rounds.ts";
import type { Records } from "../../store/port/records.ts";
import type { Entry } from "../resource.ts";
import { writeUse, type SourceRecord } from "./source-record.ts";

/** Regular work for sources. */
export interface SourceNotes {
  /** Something has changed that may end before the next run. */
  schedule(): void;
  stop(): Promise<void>;
}

export interface SourceNotesOptions {
  records: Pick<Records, "noteStates">;
  clock: Clock;
  list: () => readonly Entry<SourceRecord>[];
  endOverlaps: () => Promise<void>;
  onFault: (error: unknown) => void;
}

/** The time of the last request is written with this delay, so that no webhook waits for it. */
const EVERY_MS = 30_000;

export function startSourceNotes({ records, clock, list, endOverlaps, onFault }: SourceNotesOptions): SourceNotes {
  const written = new Map(list().map(({ seq, thing }) => [seq, thing.source.lastRequestAt]));

  async function write(): Promise<void> {
    const uses = list().map(({ seq, thing }) => ({ seq, at: thing.source.lastRequestAt }));
    const later = uses.filter(({ seq, at }) => at > (written.get(seq) ?? 0));
    if (later.length === 0) return;
    await records.noteStates(later.map(({ seq, at }) => ({ seq, state: writeUse(at) })));
    for (const { seq, at } of later) written.set(seq, at);
  }

  function findWaitMs(): number {
    const wall = clock.wall();
    const ends = list().flatMap(({ thing }) => thing.state.secrets.map(({ endsAt }) => (endsAt ?? Infinity) - wall));
    return Math.max(0, Math.min(EVERY_MS, ...ends));
  }

  async function run(): Promise<void> {
    await Promise.all([write(), endOverlaps()]);
  }

  const rounds = startRounds({ clock, everyMs: findWaitMs, run, onFault });
  return {
    schedule: rounds.reschedule,
    async stop() {
      await rounds.stop();
      await write().catch(onFault);
    },
  };
}
