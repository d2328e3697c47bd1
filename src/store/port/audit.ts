import type { AuditData, AuditMark, AuditRow } from "../../model/audit.ts";
import type { Page, PageOf } from "./reads.ts";

/**
 * A permanent log of who did what, as a chain of hashes with a signed head. A note that is passed with a change is
 * written in the transaction of that change: no change without its entry, and no entry without its change.
 */
export interface Audit {
  /** For acts that change nothing in the store. On disk when it resolves. */
  note(notes: readonly AuditNote[], at: number): Promise<void>;
  /** Starts the chain if there is none; its first entry describes the state before it. */
  begin(at: number): Promise<void>;
  /** The latest first. */
  list(filter: AuditFilter, page: Page): Promise<PageOf<AuditRow>>;
  /** The next entries by number, with the checkpoint and head of the same moment. */
  read(afterSeq: number, limit: number): Promise<AuditPart>;
}

export interface AuditNote extends Omit<AuditData, "salt"> {
  actor: string;
  via?: string | undefined;
  act: string;
  kind: string;
  id: string;
  tenantId?: string | undefined;
}

/** An entry must meet all given conditions. */
export interface AuditFilter {
  tenantId?: string | undefined;
  actor?: string | undefined;
  act?: string | undefined;
  kind?: string | undefined;
  id?: string | undefined;
  /** Only entries in which this field of the changed resource differs. */
  member?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

export interface AuditPart {
  rows: readonly AuditRow[];
  storeId: string;
  head: AuditMark | undefined;
  checkpoint: AuditMark | undefined;
}
