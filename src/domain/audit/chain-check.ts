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

/** The first entry with which something is wrong, and what. */
export interface ChainFault {
  seq: number;
  why: string;
}

export interface ChainCheck {
  /** The rows by their numbers, from the first that is there. */
  take(row: AuditRow): void;
  /** After the last row. Undefined when the chain is whole. */
  end(head: AuditMark | undefined): ChainFault | undefined;
  readonly count: number;
}

export interface ChainCheckOptions {
  storeId: string;
  /** Undefined: signatures are not looked at, and whoever rewrites all of the chain is not found. */
  verify: AuditKey["verify"] | undefined;
  checkpoint: AuditMark | undefined;
  /** Entries that were written down elsewhere, each with its hash: the chain must hold them still. */
  anchors?: readonly Pick<AuditMark, "seq" | "hash">[] | undefined;
}

/** Follows the chain from hash to hash. The lowest entry that is wrong is the one that is named. */
export function createChainCheck(options: ChainCheckOptions): ChainCheck {
  const { storeId, verify, checkpoint, anchors = [] } = options;
  const start = checkpoint ?? BEGINNING;
  const anchored = new Map(anchors.map(({ seq, hash }) => [seq, hash]));
  /** Entries whose data is gone, until a later one says that their tenant was erased. */
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
    blame(checkpoint.seq, "the checkpoint before which entries were deleted has a wrong signature");
  }

  function findWrong({ seq, entry: text, hash }: AuditRow, entry: AuditEntry | undefined): string | undefined {
    if (entry === undefined || entry.seq !== seq || canonicalJson(entry) !== text) return "it was changed";
    if (hashEntry(last.hash, text) !== hash) return "its hash does not fit: it, or the one before, was changed";
    if (entry.act === CHAIN_BROKEN) return "the gateway found the log changed when it wrote this entry";
    return undefined;
  }

  function checkData({ seq, data }: AuditRow, entry: AuditEntry): void {
    if (entry.act === TENANT_ERASED) bare.delete(entry.tenant_id ?? "");
    if (data === undefined && entry.data !== null) {
      const tenant = entry.tenant_id ?? "";
      if (!bare.has(tenant)) bare.set(tenant, seq);
    } else if (data !== undefined && entry.data !== hashData(data)) {
      blame(seq, "what it says was changed");
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
        return blame(Math.min(seq, last.seq + 1), seq > last.seq ? "it is missing" : "it is not in its place");
      }
      const entry = parseEntry(row.entry);
      const wrong = findWrong(row, entry);
      if (wrong !== undefined || entry === undefined) return blame(seq, wrong ?? "it was changed");
      if ((anchored.get(seq) ?? hash) !== hash) return blame(seq, "it is not the one that was written down");
      anchored.delete(seq);
      checkData(row, entry);
      last = { seq, hash };
    },
    end(head) {
      for (const seq of bare.values()) blame(seq, "what it says was removed, and its tenant was not erased");
      for (const seq of anchored.keys()) {
        if (seq > start.seq) blame(Math.min(seq, last.seq + 1), `entry ${seq} was written down and is missing`);
      }
      if (fault !== undefined) return fault;
      if (head === undefined) return { seq: last.seq + 1, why: "the signed head is missing" };
      if (!isSigned("head", head)) return { seq: head.seq, why: "the head has a wrong signature" };
      if (head.seq > last.seq) return { seq: last.seq + 1, why: `it is missing: the log goes on to ${head.seq}` };
      if (head.seq < last.seq) return { seq: head.seq + 1, why: "it comes after the signed head" };
      return head.hash === last.hash ? undefined : { seq: head.seq, why: "it is not the one that was signed" };
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
