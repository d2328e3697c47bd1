import { DatabaseSync } from "@photostructure/sqlite";
import { closeSync, openSync, writeSync } from "node:fs";

const PAGE_BYTES = 4096;

interface Leaf {
  pageno: number;
  ncell: number;
}

/**
 * Makes leaf pages of a table or index unreadable, as a failing disk would; by default the one in the middle. Nobody may
 * have the database open. Returns how many rows are on them.
 */
export function damageLeaves(file: string, name: string, which: "one" | "all" = "one"): number {
  const db = new DatabaseSync(file);
  // The damage must not be hidden by a newer page in the log.
  db.exec("pragma wal_checkpoint(truncate)");
  const select = db.prepare("select pageno, ncell from dbstat where name = ? and pagetype = 'leaf' order by path");
  const leaves = select.all(name) as unknown as Leaf[];
  db.close();
  if (which === "one" && leaves.length < 3)
    throw new Error(`${name} has only ${leaves.length} leaf pages: its neighbours show nothing`);
  const hit = which === "all" ? leaves : leaves.slice(leaves.length >> 1, (leaves.length >> 1) + 1);
  const handle = openSync(file, "r+");
  const noise = new Uint8Array(PAGE_BYTES).fill(0xa5);
  for (const { pageno } of hit) writeSync(handle, noise, 0, PAGE_BYTES, (pageno - 1) * PAGE_BYTES);
  closeSync(handle);
  return hit.reduce((sum, { ncell }) => sum + ncell, 0);
}
