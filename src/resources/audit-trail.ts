import { createChainCheck, type ChainFault, type AuditKey, type AuditMark, type AuditRow } from "../model/audit.ts";
import type { Clock } from "../model/clock.ts";
import type { Authors, AuditAction } from "./authors.ts";
import type { AuditFilter, AuditPart } from "../store/port/audit.ts";
import type { Page } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";

/** Audit entries for actions that change nothing in the store. Changes are recorded together with the change. */
export type AuditTrail = ReturnType<typeof createAuditTrail>;

export interface OpenTrail extends Omit<AuditPart, "rows"> {
  /** Oldest first, in parts. */
  rows(): AsyncGenerator<readonly AuditRow[], void>;
}

const PART_ROWS = 500;

export function createAuditTrail(options: {
  store: Pick<Store, "audit">;
  authors: Pick<Authors, "note">;
  clock: Pick<Clock, "wall">;
  key: Pick<AuditKey, "verify" | "publicKey">;
}) {
  const { store, authors, clock, key } = options;
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
    /** Records an action of the current author, such as showing a secret. On disk when it resolves. */
    note: (action: AuditAction) => store.audit.note([authors.note(action)], clock.wall()),
    list: (filter: AuditFilter, page: Page) => store.audit.list(filter, page),
    /** The whole log up to now. */
    open,
    async verify(): Promise<{ entries: number; head: AuditMark | undefined; fault: ChainFault | undefined }> {
      const { storeId, checkpoint, head, rows } = await open();
      const check = createChainCheck({ storeId, checkpoint, verify: key.verify });
      for await (const part of rows()) for (const row of part) check.take(row);
      const fault = check.end(head);
      return { entries: check.count, head, fault };
    },
  };
}
