import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createAuditKey,
  createAuditVerifier,
  canonicalJson,
  TENANT_ERASED,
  textOfMark,
  type AuditEntry,
  type AuditRow,
} from "../../../src/model/audit.ts";
import { buildChain, findFault, KEY, rehash, STORE_ID, type Chain, type Wish } from "../../support/audit-chain.ts";

const TEN: readonly Wish[] = Array.from({ length: 10 }, (_, n) => ({ says: { n } }));

const withRows = ({ head }: Chain, rows: readonly AuditRow[]): Chain => ({ rows: [...rows], head });

function change(row: AuditRow, member: keyof AuditEntry, value: unknown): AuditRow {
  return { ...row, entry: canonicalJson({ ...(JSON.parse(row.entry) as AuditEntry), [member]: value }) };
}

describe("the check of an audit log", () => {
  it("finds nothing wrong with one that nobody touched, of any length", () => {
    expect(findFault(buildChain(TEN))).toBeUndefined();
    expect(findFault(buildChain([{}]))).toBeUndefined();
    expect(findFault(buildChain([{ act: "a", tenantId: "acme", says: "ä \u0000 \u2028" }, {}]))).toBeUndefined();
  });

  it.each<[what: string, tamper: (rows: AuditRow[]) => AuditRow[], seq: number]>([
    ["flipped", (rows) => rows.map((row) => (row.seq === 4 ? change(row, "actor", "key:key_2") : row)), 4],
    [
      "rewritten in what it says",
      (rows) => rows.map((row) => (row.seq === 4 ? { ...row, data: '{"salt":"s4"}' } : row)),
      4,
    ],
    ["emptied", (rows) => rows.map((row) => (row.seq === 4 ? { ...row, data: undefined } : row)), 4],
    ["dropped", (rows) => rows.filter(({ seq }) => seq !== 4), 4],
    ["the first, dropped", (rows) => rows.slice(1), 1],
    [
      "swapped with the next",
      (rows) => rows.map((row, i) => ({ ...(rows[[3, 4].includes(i) ? 7 - i : i] as AuditRow), seq: row.seq })),
      4,
    ],
    ["moved to the end", (rows) => [...rows.filter(({ seq }) => seq !== 4), rows[3] as AuditRow], 4],
    ["cut off at the end", (rows) => rows.slice(0, 7), 8],
    ["all gone", () => [], 1],
    ["added at the end", (rows) => [...rows, { ...(rows[9] as AuditRow), seq: 11 }], 11],
    ["repeated", (rows) => [...rows.slice(0, 4), rows[3] as AuditRow, ...rows.slice(4)], 4],
  ])("names the first entry that was %s", (_, tamper, seq) => {
    const chain = buildChain(TEN);
    expect(findFault(withRows(chain, tamper(chain.rows)))).toMatchObject({ seq });
  });

  it("finds a chain that was rewritten with all of its hashes, by the signature of the head", () => {
    const chain = buildChain(TEN);
    const forged = rehash(chain.rows.map((row) => (row.seq === 4 ? change(row, "actor", "key:key_2") : row)));
    const last = forged.at(-1) as AuditRow;
    const head = { seq: 10, hash: last.hash, at: 9999 };
    const others = createAuditKey("ff".repeat(32));
    const heads = [
      chain.head,
      { ...head, signature: chain.head?.signature ?? "" },
      { ...head, signature: others.sign(textOfMark("head", STORE_ID, head)) },
      { ...head, signature: "" },
      undefined,
    ];
    for (const one of heads) expect(findFault({ rows: forged, head: one })).toBeDefined();
    // Without the key nobody could tell: it is the signature that finds it.
    expect(findFault({ rows: forged, head: { ...head, signature: "" } }, { verify: undefined })).toBeUndefined();
  });

  it("takes the head of another store, or a checkpoint in the place of the head, for wrong", () => {
    const { rows, head } = buildChain(TEN);
    expect(findFault({ rows, head }, { storeId: "str_2" })).toBeDefined();
    const { seq, hash } = rows[4] as AuditRow;
    const mark = { seq, hash, at: 1 };
    const checkpoint = { ...mark, signature: KEY.sign(textOfMark("head", STORE_ID, mark)) };
    expect(findFault({ rows: rows.slice(5), head }, { checkpoint })).toMatchObject({ seq: 5 });
    const signed = { ...mark, signature: KEY.sign(textOfMark("checkpoint", STORE_ID, mark)) };
    expect(findFault({ rows: rows.slice(5), head }, { checkpoint: signed })).toBeUndefined();
    expect(findFault({ rows: rows.slice(6), head }, { checkpoint: signed })).toMatchObject({ seq: 6 });
  });

  it("finds that a log was put back to an earlier state by an entry that was recorded elsewhere", () => {
    const [before, after] = [buildChain(TEN.slice(0, 6)), buildChain(TEN)];
    expect(findFault(before)).toBeUndefined();
    const { seq, hash } = after.rows[8] as AuditRow;
    expect(findFault(before, { anchors: [{ seq, hash }] })).toMatchObject({ seq: 7 });
    expect(findFault(after, { anchors: [{ seq, hash }] })).toBeUndefined();
    expect(findFault(after, { anchors: [{ seq: 3, hash }] })).toMatchObject({ seq: 3 });
  });

  it("misses nothing where a tenant was erased, and elsewhere does", () => {
    const wishes = [
      { tenantId: "acme", says: 1 },
      { tenantId: "other", says: 2 },
      { act: TENANT_ERASED, tenantId: "acme" },
    ];
    const chain = buildChain(wishes);
    const emptied = (seq: number) => chain.rows.map((row) => (row.seq === seq ? { ...row, data: undefined } : row));
    expect(findFault(withRows(chain, emptied(1)))).toBeUndefined();
    expect(findFault(withRows(chain, emptied(2)))).toMatchObject({ seq: 2 });
  });

  // shows: C3
  it("finds every tampering with any chain", () => {
    const tamperings = fc.constantFrom("flip", "data", "hash", "drop", "swap", "cut", "insert", "rehash", "time");
    const wish = fc.record({ act: fc.string(), says: fc.oneof(fc.constant(undefined), fc.jsonValue()) });
    fc.assert(
      fc.property(
        fc.array(wish, { minLength: 2, maxLength: 12 }),
        tamperings,
        fc.nat(),
        fc.nat(),
        (wishes, how, a, b) => {
          const chain = buildChain(wishes.map((one) => ({ ...one, act: `x.${one.act}` })));
          expect(findFault(chain)).toBeUndefined();
          const at = a % chain.rows.length;
          const other = b % chain.rows.length;
          const tampered = tamper(chain, how, at, other === at ? (at + 1) % chain.rows.length : other);
          const fault = findFault(tampered);
          expect([how, typeof fault]).toEqual([how, "object"]);
          expect(fault?.seq).toBeGreaterThan(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("checks a signature with the public half alone", () => {
    const verify = createAuditVerifier(KEY.publicKey);
    expect(findFault(buildChain(TEN), { verify })).toBeUndefined();
    const others = createAuditKey("ff".repeat(32));
    expect(findFault(buildChain(TEN, others.sign), { verify })).toBeDefined();
    expect(() => createAuditVerifier("pka_short")).toThrow(/pka_ followed by the base64/);
  });
});

function tamper(chain: Chain, how: string, at: number, other: number): Chain {
  const { rows, head } = chain;
  const row = rows[at] as AuditRow;
  const put = (changed: AuditRow) =>
    withRows(
      chain,
      rows.map((one, i) => (i === at ? changed : one)),
    );
  switch (how) {
    case "flip":
      return put(change(row, "id", "another"));
    case "data":
      return put({ ...row, data: `${row.data ?? "{}"} ` });
    case "hash":
      return put({ ...row, hash: row.hash.replace(/./, (first) => (first === "0" ? "1" : "0")) });
    case "drop":
      return withRows(
        chain,
        rows.filter((_, i) => i !== at),
      );
    case "swap": {
      const swapped = [...rows];
      swapped[at] = { ...(rows[other] as AuditRow), seq: row.seq };
      swapped[other] = { ...row, seq: (rows[other] as AuditRow).seq };
      return withRows(chain, swapped);
    }
    case "cut":
      return withRows(chain, rows.slice(0, at));
    case "insert":
      return withRows(chain, rehash([...rows.slice(0, at), row, ...rows.slice(at)]));
    case "rehash": {
      const forged = rehash(rows.map((one, i) => (i === at ? change(one, "actor", "gateway") : one)));
      return { rows: forged, head: { ...(head as NonNullable<typeof head>), hash: (forged.at(-1) as AuditRow).hash } };
    }
    default:
      return { rows, head: { ...(head as NonNullable<typeof head>), at: 1 } };
  }
}
