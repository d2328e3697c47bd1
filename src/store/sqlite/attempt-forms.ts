import { HOPS_HEADER } from "../../model/event.ts";
import { MASK } from "../../model/secrets.ts";
import type { KindRecord } from "../../model/outcome.ts";
import type { Database } from "./connection.ts";

/** Consecutive attempts that share forms, and how many forms at most. Databases depend on both: never change them. */
const PART_ATTEMPTS = 65_536;
const PART_FORMS = 1024;
/** A destination may have several addresses and receive several content types. */
const MAX_OF_SUBSCRIPTION = 8;

/** Placeholders for signatures; these characters cannot occur in a header. */
const HEX_MARK = "\u0001";
const BASE64_MARK = "\u0002";
const MARKS = new RegExp(`[${HEX_MARK}${BASE64_MARK}]`, "g");
const HEX_DIGITS = 64;
const BASE64_DIGITS = 44;
const SIGNATURE = /sha256=([0-9a-f]{64})(?=\r)|v1,([A-Za-z0-9+/]{43}=)(?=[\r ])/g;

function digitsOf(mark: string): number {
  return mark === HEX_MARK ? HEX_DIGITS : BASE64_DIGITS;
}

/** Headers from a webhook's sender never go into a form, because they must be deleted with their event. */
const OWN_LINES = [
  /^Content-Type: [a-z]+\/[a-z.+-]+(?:; ?charset=utf-8)?$/i,
  /^User-Agent: Posthorn\/[\w.+-]+$/,
  new RegExp(`^${HOPS_HEADER}: \\d+$`),
  new RegExp(`^[^:]+: sha256=${HEX_MARK}$`),
  new RegExp(`^[^:]+: v1,${BASE64_MARK}(?: v1,${BASE64_MARK})*$`),
];

function isOwn(line: string): boolean {
  return line.endsWith(`: ${MASK}`) || OWN_LINES.some((pattern) => pattern.test(line));
}

/** Forms hold what the attempts of one part of the log have in common, so that it is written once. */
export function createAttemptForms(db: Database) {
  const select = db.prepare(`
    select seq, subscription_seq as subscriptionSeq, url as place, address, request_headers as sent
    from attempt_forms where seq >= ? and seq < ?`);
  const insert = db.prepare(
    "insert into attempt_forms (seq, subscription_seq, url, address, request_headers) values (?, ?, ?, ?, ?)",
  );
  let part = -1;
  let lastSeq = 0;
  const bySubscription = new Map<number, Form[]>();

  function begin(next: number): void {
    part = next;
    lastSeq = part * PART_FORMS - 1;
    bySubscription.clear();
    for (const row of select.all(part * PART_FORMS, (part + 1) * PART_FORMS)) {
      lastSeq = row.seq;
      formsOf(row.subscriptionSeq).push(toForm(row));
    }
  }

  function formsOf(subscriptionSeq: number): Form[] {
    let forms = bySubscription.get(subscriptionSeq);
    if (forms === undefined) bySubscription.set(subscriptionSeq, (forms = []));
    return forms;
  }

  function make(subscriptionSeq: number, record: KindRecord, forms: Form[]): Form | undefined {
    const { place, address, sent = "" } = record;
    const marked = sent.replaceAll(SIGNATURE, (_, hex) =>
      hex === undefined ? `v1,${BASE64_MARK}` : `sha256=${HEX_MARK}`,
    );
    const isFull = forms.length >= MAX_OF_SUBSCRIPTION || lastSeq === (part + 1) * PART_FORMS - 1;
    if (isFull || !marked.split("\r\n").slice(0, -1).every(isOwn)) return undefined;
    const row = { seq: ++lastSeq, subscriptionSeq, place: place ?? null, address: address ?? null, sent: marked };
    insert.run(row.seq, subscriptionSeq, row.place, row.address, marked);
    const form = toForm(row);
    forms.push(form);
    return form;
  }

  return {
    /**
     * The form of the attempt, and all signatures of its headers in a row. Undefined when it must be written in full.
     */
    fit(attemptSeq: number, subscriptionSeq: number, record: KindRecord) {
      const { sent } = record;
      if (sent === undefined || sent === "") return undefined;
      const itsPart = Math.floor(attemptSeq / PART_ATTEMPTS);
      if (itsPart !== part) begin(itsPart);
      const forms = formsOf(subscriptionSeq);
      for (const form of forms) {
        const signatures = readSignatures(form, record, sent);
        if (signatures !== undefined) return { form: form.seq, signatures };
      }
      const form = make(subscriptionSeq, record, forms);
      const signatures = form === undefined ? undefined : readSignatures(form, record, sent);
      return form === undefined || signatures === undefined ? undefined : { form: form.seq, signatures };
    },
    /** Forgets what a transaction that did not commit has recorded. */
    rollback(): void {
      part = -1;
    },
  };
}

interface FormRow {
  seq: number;
  subscriptionSeq: number;
  place: string | null;
  address: string | null;
  sent: string;
}

interface Form {
  seq: number;
  place: string | undefined;
  address: string | undefined;
  /** The text before, between and after the signatures. */
  pieces: readonly string[];
  /** The length of the signature after each piece. */
  digits: readonly number[];
  length: number;
}

function toForm({ seq, place, address, sent }: FormRow): Form {
  const digits = Array.from(sent.matchAll(MARKS), ([mark]) => digitsOf(mark));
  return {
    seq,
    place: place ?? undefined,
    address: address ?? undefined,
    pieces: sent.split(MARKS),
    digits,
    length: digits.reduce((sum, one) => sum + one - 1, sent.length),
  };
}

function readSignatures(form: Form, { place, address }: KindRecord, sent: string): string | undefined {
  if (sent.length !== form.length || place !== form.place || address !== form.address) return undefined;
  let signatures = "";
  let at = 0;
  for (let i = 0; i < form.pieces.length; i++) {
    const piece = form.pieces[i] as string;
    if (sent.slice(at, (at += piece.length)) !== piece) return undefined;
    signatures += sent.slice(at, (at += form.digits[i] ?? 0));
  }
  return signatures;
}

export function fillForm(sent: string, signatures: string): string {
  let at = 0;
  return sent.replaceAll(MARKS, (mark) => signatures.slice(at, (at += digitsOf(mark))));
}

/** Deletes forms of parts that have no attempts left, except for the last part, which still grows. */
export function createAttemptFormRemoval(db: Database): (limit: number) => number {
  const partOf = (seq: string) => `${seq} / ${PART_FORMS} * ${PART_ATTEMPTS}`;
  const remove = db.prepare(`
    delete from attempt_forms where seq in (
      select f.seq from attempt_forms f
      where ${partOf("f.seq")} + ${PART_ATTEMPTS} <= (select max(seq) from attempts) and not exists (
        select 1 from attempts a where a.seq >= ${partOf("f.seq")} and a.seq < ${partOf("f.seq")} + ${PART_ATTEMPTS})
      limit ?)`);
  return (limit) => remove.run(limit).changes;
}

/** A part of the log is searched in so many slices, because searching it at once would stall the writer. */
export const PART_SLICES = 64;
const SLICE_ATTEMPTS = PART_ATTEMPTS / PART_SLICES;

/**
 * Searches one slice of a form's part for an attempt that refers to the form. Undefined when the next slice must be
 * searched too. Without later attempts the form is unused: the next attempt cannot be in a slice that was searched.
 */
export function createFormSearch(db: Database): (form: number, slice: number) => "used" | "unused" | undefined {
  const selectUse = db.prepare("select 1 from attempts where seq >= ? and seq < ? and form = ? limit 1");
  const selectLater = db.prepare("select 1 from attempts where seq >= ? and seq < ? limit 1");
  return (form, slice) => {
    const partStart = Math.floor(form / PART_FORMS) * PART_ATTEMPTS;
    const start = partStart + slice * SLICE_ATTEMPTS;
    const end = start + SLICE_ATTEMPTS;
    if (selectUse.get(start, end, form) !== undefined) return "used";
    return selectLater.get(end, partStart + PART_ATTEMPTS) === undefined ? "unused" : undefined;
  };
}

export function createUnusedFormRemoval(db: Database): (form: number) => void {
  const remove = db.prepare(`
    delete from attempt_forms where seq = ?1 and not exists (
      select 1 from attempts where seq >= ?2 and seq < ?2 + ${PART_ATTEMPTS} and form = ?1)`);
  return (form) => void remove.run(form, Math.floor(form / PART_FORMS) * PART_ATTEMPTS);
}
