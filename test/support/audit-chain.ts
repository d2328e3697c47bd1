import {
  createAuditKey,
  canonicalJson,
  createChainCheck,
  type ChainCheckOptions,
  BEGINNING,
  hashData,
  hashEntry,
  textOfMark,
  type AuditEntry,
  type AuditMark,
  type AuditRow,
} from "../../src/model/audit.ts";

export const STORE_ID = "str_1";
export const KEY = createAuditKey("5e".repeat(32));

export interface Chain {
  rows: AuditRow[];
  head: AuditMark | undefined;
}

export interface Wish {
  act?: string;
  tenantId?: string | null;
  /** Undefined: the entry says nothing beside the fact. */
  says?: unknown;
}

export function buildChain(wishes: readonly Wish[], sign = KEY.sign): Chain {
  const rows: AuditRow[] = [];
  let hash: string = BEGINNING.hash;
  for (const [index, { act = "target.update", tenantId = null, says }] of wishes.entries()) {
    const seq = index + 1;
    const data = says === undefined ? undefined : canonicalJson({ salt: `s${seq}`, details: says });
    const entry = canonicalJson({
      v: 1,
      seq,
      at: 1000 + seq,
      actor: "key:key_1",
      via: null,
      act,
      kind: "target",
      id: `t${seq}`,
      tenant_id: tenantId,
      data: data === undefined ? null : hashData(data),
    });
    hash = hashEntry(hash, entry);
    rows.push({ seq, entry, data, hash });
  }
  const last = { seq: rows.length, hash, at: 9999 };
  return { rows, head: { ...last, signature: sign(textOfMark("head", STORE_ID, last)) } };
}

/** As somebody would who can write the database, and does not have the key. */
export function rehash(rows: readonly AuditRow[]): AuditRow[] {
  let hash: string = BEGINNING.hash;
  return rows.map((row, index) => {
    const entry = canonicalJson({ ...(JSON.parse(row.entry) as AuditEntry), seq: index + 1 });
    hash = hashEntry(hash, entry);
    return { seq: index + 1, entry, data: row.data, hash };
  });
}

export function findFault({ rows, head }: Chain, options: Partial<ChainCheckOptions> = {}) {
  const check = createChainCheck({ storeId: STORE_ID, checkpoint: undefined, verify: KEY.verify, ...options });
  for (const row of rows) check.take(row);
  return check.end(head);
}
