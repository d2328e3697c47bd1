import { AsyncLocalStorage } from "node:async_hooks";
import type { AuditNote } from "../store/port/audit.ts";

/** Changes that are judged like all others, and not written. */

const storage = new AsyncLocalStorage<true>();
let open = 0;

/** What the audit log would say of the change that `work` makes; nothing where it changes nothing. */
export async function rehearse(work: () => Promise<unknown>): Promise<readonly AuditNote[]> {
  open++;
  try {
    await storage.run(true, work);
  } catch (error) {
    if (error instanceof Rehearsed) return error.notes;
    throw error;
  } finally {
    open--;
    // Before Node 24 a storage that is in use costs every promise of the process.
    if (open === 0) storage.disable();
  }
  throw new Error("a rehearsal has ended in a change");
}

/** Called when a change is judged, before it is written. */
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
