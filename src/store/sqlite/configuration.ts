import type { Database } from "./connection.ts";

export function createConfigurationWrites(db: Database) {
  const selectMeta = db.prepare("select value from meta where key = ?");
  const insertMeta = db.prepare("insert into meta (key, value) values (?, ?)");
  const saveLatest = db.prepare(`
    insert into meta (key, value) values (?, ?)
    on conflict do update set value = max(cast(value as integer), excluded.value)`);

  return {
    loadOrSave(name: string, value: string): string {
      const row = selectMeta.get(name) as { value: string } | undefined;
      if (row === undefined) insertMeta.run(name, value);
      return row?.value ?? value;
    },

    noteNow(now: number): void {
      saveLatest.run("last_known_now", now);
    },
  };
}
