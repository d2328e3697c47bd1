import type { Clock, Timer } from "../domain/clock.ts";
import type { Store } from "../store/store.ts";
import type { SourceRecord } from "./sources.ts";

/** What is done for sources from time to time. */
export interface SourceNotes {
  /** Something has changed that may end sooner than the next look. */
  schedule(): void;
  stop(): Promise<void>;
}

export interface SourceNotesOptions {
  store: Pick<Store, "noteSourceRequests">;
  clock: Clock;
  list: () => readonly SourceRecord[];
  endOverlaps: () => Promise<void>;
  onFault: (error: unknown) => void;
}

/** When the last request came is told to the store this late: no webhook waits for it. */
const EVERY_MS = 30_000;

export function startSourceNotes({ store, clock, list, endOverlaps, onFault }: SourceNotesOptions): SourceNotes {
  const written = new Map(list().map(({ source }) => [source.name, source.lastRequestAt]));
  let timer: Timer | undefined;
  let isStopped = false;

  async function write(): Promise<void> {
    const news = list().filter(({ source }) => source.lastRequestAt > (written.get(source.name) ?? 0));
    if (news.length === 0) return;
    const rows = news.map(({ source }) => ({ name: source.name, at: source.lastRequestAt }));
    await store.noteSourceRequests(rows);
    for (const { name, at } of rows) written.set(name, at);
  }

  function schedule(): void {
    timer?.cancel();
    if (isStopped) return;
    const wall = clock.wall();
    const ends = list().flatMap(({ state }) => state.secrets.map(({ endsAt }) => (endsAt ?? Infinity) - wall));
    timer = clock.setTimer(clock.now() + Math.max(0, Math.min(EVERY_MS, ...ends)), () => {
      Promise.all([write(), endOverlaps()]).catch(onFault).finally(schedule);
    });
  }

  schedule();
  return {
    schedule,
    async stop() {
      isStopped = true;
      timer?.cancel();
      await write().catch(onFault);
    },
  };
}
