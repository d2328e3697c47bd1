import { AsyncLocalStorage } from "node:async_hooks";
import type { AuditNote } from "../store/port/audit.ts";

/** Changes that are checked like all others but not written. */

const storage = new AsyncLocalStorage<true>();
let open = 0;

/** The audit notes of the change that `work` would make; empty when it would change nothing. */
export async function rehearse(work: () => Promise<unknown>): Promise<readonly AuditNote[]> {
  open++;
  try {
    await storage.run(true, work);
  } catch (error) {
    if (error instanceof Rehearsed) return error.notes;
    throw error;
  } finally {
    open--;
    // Before Node 24 an enabled storage slows down every promise of the process.
    if (open === 0) storage.disable();
  }
  throw new Error("a rehearsal has ended in a change");
}

/** Called when a change has passed its checks, before it is written. */
export function endRehearsal(notes: () => readonly AuditNote[]): void {
  if (open > 0 && storage.getStore() === true) throw new Rehearsed(notes());
}

class Rehearsed extends Error {
  readonly notes: readonly AuditNote[];

  constructor(notes: readonly AuditNote[]) {
    super("rehearsed");
    this.notes = notes;
  }
}
