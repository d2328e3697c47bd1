import type { AuditKey } from "./audit-key.ts";
import { canonicalJson } from "./canonical-json.ts";
import {
  BEGINNING,
  CHAIN_BROKEN,
  hashData,
  hashEntry,
  TENANT_ERASED,
  textOfMark,
  type AuditEntry,
  type AuditMark,
  type AuditMarkName,
  type AuditRow,
} from "./entry.ts";

/** The first wrong entry, and what is wrong with it. */
export interface ChainFault {
  seq: number;
  why: string;
}

export interface ChainCheck {
  /** Takes the rows in the order of their numbers, from the first one that exists. */
  take(row: AuditRow): void;
  /** Called after the last row. Undefined when the chain is intact. */
  end(head: AuditMark | undefined): ChainFault | undefined;
  readonly count: number;
}

export interface ChainCheckOptions {
  storeId: string;
  /** Undefined: signatures are not verified, and a chain that was rewritten as a whole is not noticed. */
  verify: AuditKey["verify"] | undefined;
  checkpoint: AuditMark | undefined;
  /** Entries noted outside of the store, each with its hash: the chain must still contain them. */
  anchors?: readonly Pick<AuditMark, "seq" | "hash">[] | undefined;
}

/** Follows the chain from hash to hash. Of several wrong entries the lowest is reported. */
export function createChainCheck(options: ChainCheckOptions): ChainCheck {
  const { storeId, verify, checkpoint, anchors = [] } = options;
  const start = checkpoint ?? BEGINNING;
  const anchored = new Map(anchors.map(({ seq, hash }) => [seq, hash]));
  /** By tenant, the first entry whose data is missing, until a later entry says that the tenant was erased. */
  const bare = new Map<string, number>();
  let last: Pick<AuditMark, "seq" | "hash"> = start;
  let fault: ChainFault | undefined;
  let count = 0;

  function blame(seq: number, why: string): void {
    if (fault === undefined || seq < fault.seq) fault = { seq, why };
  }

  function isSigned(name: AuditMarkName, mark: AuditMark): boolean {
    return verify === undefined || verify(textOfMark(name, storeId, mark), mark.signature);
  }

  if (checkpoint !== undefined && !isSigned("checkpoint", checkpoint)) {
    blame(checkpoint.seq, "the checkpoint up to which entries were deleted has a wrong signature");
  }

  function findWrong({ seq, entry: text, hash }: AuditRow, entry: AuditEntry | undefined): string | undefined {
    if (entry === undefined || entry.seq !== seq || canonicalJson(entry) !== text) return "it was changed";
    if (hashEntry(last.hash, text) !== hash)
      return "its hash does not match: this entry or the one before it was changed";
    if (entry.act === CHAIN_BROKEN) return "the gateway found the log changed when it wrote this entry";
    return undefined;
  }

  function checkData({ seq, data }: AuditRow, entry: AuditEntry): void {
    if (entry.act === TENANT_ERASED) bare.delete(entry.tenant_id ?? "");
    if (data === undefined && entry.data !== null) {
      const tenant = entry.tenant_id ?? "";
      if (!bare.has(tenant)) bare.set(tenant, seq);
    } else if (data !== undefined && entry.data !== hashData(data)) {
      blame(seq, "its data was changed");
    }
  }

  return {
    get count() {
      return count;
    },
    take(row) {
      const { seq, hash } = row;
      count++;
      if (fault !== undefined && fault.seq <= seq) return;
      if (seq !== last.seq + 1) {
        return blame(Math.min(seq, last.seq + 1), seq > last.seq ? "it is missing" : "it is out of order");
      }
      const entry = parseEntry(row.entry);
      const wrong = findWrong(row, entry);
      if (wrong !== undefined || entry === undefined) return blame(seq, wrong ?? "it was changed");
      if ((anchored.get(seq) ?? hash) !== hash) return blame(seq, "it differs from the anchor that was noted for it");
      anchored.delete(seq);
      checkData(row, entry);
      last = { seq, hash };
    },
    end(head) {
      for (const seq of bare.values()) blame(seq, "its data was removed although its tenant was not erased");
      for (const seq of anchored.keys()) {
        if (seq > start.seq) blame(Math.min(seq, last.seq + 1), `entry ${seq} was noted as an anchor and is missing`);
      }
      if (fault !== undefined) return fault;
      if (head === undefined) return { seq: last.seq + 1, why: "the signed head is missing" };
      if (!isSigned("head", head)) return { seq: head.seq, why: "the head has a wrong signature" };
      if (head.seq > last.seq)
        return { seq: last.seq + 1, why: `it is missing: the log should end with entry ${head.seq}` };
      if (head.seq < last.seq) return { seq: head.seq + 1, why: "it comes after the signed head" };
      return head.hash === last.hash ? undefined : { seq: head.seq, why: "it is not the entry that was signed" };
    },
  };
}

function parseEntry(text: string): AuditEntry | undefined {
  try {
    return JSON.parse(text) as AuditEntry;
  } catch {
    return undefined;
  }
}
