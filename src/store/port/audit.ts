import type { AuditData, AuditMark, AuditRow } from "../../domain/audit/entry.ts";
import type { Page, PageOf } from "./reads.ts";

/**
 * Who did what, for good, in a chain of hashes with a signed head. A note that is given with a change is written in the
 * transaction of that change: there is neither a change without its entry nor an entry without its change.
 */
export interface Audit {
  /** For what changes nothing in the store. On disk when it resolves. */
  note(notes: readonly AuditNote[], at: number): Promise<void>;
  /** Begins the chain where there is none; says in its first entry what there was before. */
  begin(at: number): Promise<void>;
  /** The latest first. */
  list(filter: AuditFilter, page: Page): Promise<PageOf<AuditRow>>;
  /** The next ones by number; with what the chain begins and ends with as of the same moment. */
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

/** All that is given must hold. */
export interface AuditFilter {
  tenantId?: string | undefined;
  actor?: string | undefined;
  act?: string | undefined;
  kind?: string | undefined;
  id?: string | undefined;
  /** Only those in which this member of what was changed differs. */
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
