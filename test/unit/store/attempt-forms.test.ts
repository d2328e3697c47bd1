import * as fc from "fast-check";
import { DatabaseSync } from "@photostructure/sqlite";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { KindRecord } from "../../../src/model/outcome.ts";
import {
  createAttemptFormRemoval,
  createAttemptForms,
  createFormSearch,
  fillForm,
  PART_SLICES,
} from "../../../src/store/sqlite/attempt-forms.ts";
import { newAttempt } from "../../support/store-fixtures.ts";

const PART_ATTEMPTS = 65_536;

function openForms() {
  const db = new DatabaseSync(":memory:");
  db.exec(`
    create table attempt_forms (seq integer primary key, subscription_seq integer not null, url text, address text,
      request_headers text not null) strict;
    create table attempts (seq integer primary key) strict;`);
  const select = db.prepare("select url, address, request_headers from attempt_forms where seq = ?");
  /** What is kept of the attempt by its form, or undefined when it is kept as it is. */
  function readBack(forms: ReturnType<typeof createAttemptForms>, record: KindRecord, seq = 1, subscriptionSeq = 1) {
    const formed = forms.fit(seq, subscriptionSeq, record);
    if (formed === undefined) return undefined;
    const row = select.get(formed.form) as { url: string; address: string; request_headers: string };
    return { place: row.url, address: row.address, sent: fillForm(row.request_headers, formed.signatures) };
  }
  const countForms = () => (db.prepare("select count(*) as count from attempt_forms").get() as { count: number }).count;
  return { db, readBack, countForms };
}

const digest = (text: string) => createHash("sha256").update(text).digest();
const signed = (text: string, more = "") =>
  `Content-Type: application/json\r\nX-Webhook-Signature: sha256=${digest(text).toString("hex")}\r\n` +
  `webhook-signature: v1,${digest(`${text}.`).toString("base64")} v1,${digest(`${text}!`).toString("base64")}\r\n` +
  `X-Posthorn-Hops: 1\r\nUser-Agent: Posthorn/0.1.0\r\nX-Key: ***\r\n${more}`;
const attemptOf = (sent: string | undefined, place = "https://example.com/hook") =>
  newAttempt({}, { sent, place }).record;
const shown = ({ place, address, sent }: KindRecord) => ({ place, address, sent });

describe("the form of attempts", () => {
  it("is written once for all that differ in their signatures only, and gives each back as it was", () => {
    const { db, readBack, countForms } = openForms();
    const forms = createAttemptForms(db);
    for (const text of ["a", "b", "c"]) {
      const attempt = attemptOf(signed(text));
      expect(readBack(forms, attempt)).toEqual(shown(attempt));
    }
    expect(countForms()).toBe(1);
    const elsewhere = attemptOf(signed("a"), "https://example.com/other");
    expect(readBack(forms, elsewhere)).toEqual(shown(elsewhere));
    expect(countForms()).toBe(2);
  });

  it("is found again after a restart and after a rollback", () => {
    const { db, readBack, countForms } = openForms();
    let forms = createAttemptForms(db);
    readBack(forms, attemptOf(signed("a")));
    forms = createAttemptForms(db);
    expect(readBack(forms, attemptOf(signed("b")))).toEqual(shown(attemptOf(signed("b"))));
    expect(countForms()).toBe(1);
    db.exec("begin");
    readBack(forms, attemptOf(signed("c"), "https://example.com/undone"));
    db.exec("rollback");
    forms.rollback();
    const again = attemptOf(signed("c"), "https://example.com/undone");
    expect(readBack(forms, again)).toEqual(shown(again));
    expect(countForms()).toBe(2);
  });

  it("holds nothing that the sender of a webhook said", () => {
    const { db, readBack, countForms } = openForms();
    const forms = createAttemptForms(db);
    for (const more of ["X-Forwarded-For: 192.0.2.7\r\n", "x-customer: 4711\r\n", "User-Agent: curl/8\r\n"]) {
      expect(readBack(forms, attemptOf(signed("a", more)))).toBeUndefined();
    }
    const boundary = signed("a").replace("application/json", "multipart/form-data; boundary=4711");
    expect(readBack(forms, attemptOf(boundary))).toBeUndefined();
    expect(countForms()).toBe(0);
  });

  it("changes no header, whatever stands in place of a signature", () => {
    const value = fc.oneof(
      fc.string({ unit: fc.constantFrom("0", "9", "a", "f", "A", "F", "="), minLength: 60, maxLength: 66 }),
      fc.constantFrom("", "***", "v1,", `v1,${"A".repeat(42)}B=`, `sha256=${"F".repeat(64)}`),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((one) => `sha256=${Buffer.from(one).toString("hex")}`),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((one) => `v1,${Buffer.from(one).toString("base64")}`),
    );
    const line = fc.tuple(fc.constantFrom("A", "User-Agent", "webhook-signature"), value);
    fc.assert(
      fc.property(fc.array(fc.array(line, { maxLength: 4 }), { maxLength: 20 }), (blocks) => {
        const { db, readBack } = openForms();
        const forms = createAttemptForms(db);
        for (const lines of blocks) {
          const attempt = attemptOf(lines.map(([name, text]) => `${name}: ${text}\r\n`).join(""));
          const asItIs = shown(attempt);
          expect(readBack(forms, attempt) ?? asItIs).toEqual(asItIs);
        }
        db.close();
      }),
      { numRuns: 200 },
    );
  });

  it("is not made for a destination with ever new addresses", () => {
    const { db, readBack, countForms } = openForms();
    const forms = createAttemptForms(db);
    for (let i = 0; i < 50; i++) readBack(forms, { ...attemptOf(signed("a")), address: `192.0.2.${i}` });
    expect(countForms()).toBe(8);
    expect(readBack(forms, attemptOf(signed("a")), 1, 2)).toBeDefined();
  });

  it("goes when no attempt of its part of the log is left, and not before", () => {
    const { db, readBack, countForms } = openForms();
    const forms = createAttemptForms(db);
    const remove = createAttemptFormRemoval(db);
    const seqs = [1, PART_ATTEMPTS - 1, PART_ATTEMPTS, 3 * PART_ATTEMPTS];
    for (const seq of seqs) {
      db.exec(`insert into attempts values (${seq})`);
      readBack(forms, attemptOf(signed("a")), seq);
    }
    expect(countForms()).toBe(3);
    db.exec("delete from attempts where seq = 1");
    expect(remove(10)).toBe(0);
    db.exec(`delete from attempts where seq < ${PART_ATTEMPTS}`);
    expect(remove(10)).toBe(1);
    db.exec("delete from attempts");
    expect(remove(10), "the writer knows them still").toBe(0);
    expect(countForms()).toBe(2);
  });

  it("is unused when no attempt of its part refers to it, and this is known at the last attempt", () => {
    const { db } = openForms();
    db.exec("alter table attempts add column form integer");
    const insert = db.prepare("insert into attempts (seq, form) values (?, ?)");
    const search = createFormSearch(db);
    const [form, other] = [1024, 1025];
    const slices = () => Array.from({ length: PART_SLICES }, (_, slice) => search(form, slice));
    const first = PART_ATTEMPTS;
    insert.run(first - 1, form);
    insert.run(first, other);
    expect(search(form, 0)).toBe("unused");
    insert.run(first + PART_ATTEMPTS, form);
    expect(search(form, 0)).toBe("unused");
    insert.run(first + PART_ATTEMPTS - 2, other);
    expect(slices()).toEqual([...Array.from({ length: PART_SLICES - 1 }, () => undefined), "unused"]);
    insert.run(first + PART_ATTEMPTS - 1, form);
    expect(slices()).toEqual([...Array.from({ length: PART_SLICES - 1 }, () => undefined), "used"]);
    expect(search(other, 0)).toBe("used");
  });
});
