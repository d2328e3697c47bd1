import type { Database } from "./connection.ts";

/** A key in `meta`: the scheduling time of the next start begins no earlier. */
export const LAST_KNOWN_NOW = "last_known_now";

const EVERY_MS = 5000;

/**
 * Saves scheduling time together with other writes, and at once after a pause: the next start must not lie before a
 * write.
 */
export interface KnownTime {
  readonly last: number;
  note(now: number): void;
  rollback(): void;
}

export function createKnownTime(db: Database): KnownTime {
  const save = db.prepare(`
    insert into meta (key, value) values (?, ?)
    on conflict do update set value = max(cast(value as integer), excluded.value)`);
  const select = db.prepare("select cast(value as integer) as now from meta where key = ?");
  let notedAt = Number.NEGATIVE_INFINITY;

  return {
    last: (select.get(LAST_KNOWN_NOW) as { now: number } | undefined)?.now ?? 0,
    note(now) {
      if (now - notedAt < EVERY_MS) return;
      save.run(LAST_KNOWN_NOW, now);
      notedAt = now;
    },
    rollback() {
      notedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
