import { createChainCheck, type ChainFault } from "../model/audit/chain-check.ts";
import type { AuditKey } from "../model/audit/audit-key.ts";
import type { AuditMark, AuditRow } from "../model/audit/entry.ts";
import type { Clock } from "../model/clock.ts";
import type { Authors, Deed } from "./authors.ts";
import type { AuditFilter, AuditPart } from "../store/port/audit.ts";
import type { Page, PageOf } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";

/** Audit entries for acts that change nothing in the store. Changes are recorded together with the change. */
export interface AuditTrail {
  /** Records an act of the current author, such as showing a secret. On disk when it resolves. */
  note(deed: Deed): Promise<void>;
  list(filter: AuditFilter, page: Page): Promise<PageOf<AuditRow>>;
  /** The whole log up to now. */
  open(): Promise<OpenTrail>;
  verify(): Promise<TrailReport>;
  readonly publicKey: string;
}

export interface OpenTrail extends Omit<AuditPart, "rows"> {
  /** Oldest first, in parts. */
  rows(): AsyncGenerator<readonly AuditRow[], void>;
}

export interface TrailReport {
  entries: number;
  head: AuditMark | undefined;
  fault: ChainFault | undefined;
}

export interface AuditTrailOptions {
  store: Pick<Store, "audit">;
  authors: Pick<Authors, "note">;
  clock: Pick<Clock, "wall">;
  key: Pick<AuditKey, "verify" | "publicKey">;
}

const PART_ROWS = 500;

export function createAuditTrail({ store, authors, clock, key }: AuditTrailOptions): AuditTrail {
  async function open(): Promise<OpenTrail> {
    const { rows: first, ...trail } = await store.audit.read(0, PART_ROWS);
    const end = trail.head?.seq ?? 0;
    return {
      ...trail,
      async *rows() {
        for (let rows = first; rows.length > 0;) {
          const last = rows.at(-1)?.seq ?? end;
          // Entries that arrived in the meantime come after the head of this export.
          yield last > end && trail.head !== undefined ? rows.filter(({ seq }) => seq <= end) : rows;
          if (last >= end) return;
          rows = (await store.audit.read(last, PART_ROWS)).rows;
        }
      },
    };
  }

  return {
    publicKey: key.publicKey,
    note: (deed) => store.audit.note([authors.note(deed)], clock.wall()),
    list: (filter, page) => store.audit.list(filter, page),
    open,
    async verify() {
      const { storeId, checkpoint, head, rows } = await open();
      const check = createChainCheck({ storeId, checkpoint, verify: key.verify });
      for await (const part of rows()) for (const row of part) check.take(row);
      const fault = check.end(head);
      return { entries: check.count, head, fault };
    },
  };
}
