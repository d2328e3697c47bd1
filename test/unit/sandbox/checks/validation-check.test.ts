import { createHash } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import type { PosthornError } from "../../../../src/model/errors.ts";
import type { Validation, ValidationFormat } from "../../../../src/model/validation.ts";
import { createBodyChecker, type WellFormed } from "../../../../src/sandbox/text/body-check.ts";
import { createChecker } from "../../../../src/sandbox/checks/checker.ts";
import { createValidationChecker } from "../../../../src/sandbox/checks/validation-check.ts";
import { until } from "../../../support/api-client.ts";

const usual = createChecker();
const patient = createChecker({ checkMs: 600_000, compileMs: 600_000 });
const impatient = createChecker({ checkMs: 1500, compileMs: 1500 });
const checker = createValidationChecker(usual, "permissive");
const strict = createValidationChecker(patient, "strict");
const hasty = createValidationChecker(impatient, "strict");
const reader = createBodyChecker({ maxDepth: 128 });
afterAll(() => Promise.all([usual.close(), patient.close(), impatient.close(), reader.close()]));

function validation(endpoint: string, document: object | string, version = 1): Validation {
  const format: ValidationFormat = typeof document === "string" ? "xsd" : "json";
  const bytes = Buffer.from(typeof document === "string" ? document : JSON.stringify(document));
  const hash = createHash("sha256").update(bytes).digest("hex");
  return { endpoint, format, version, document: bytes, hash };
}

const JSON_FORM: WellFormed = { kind: "json", texts: [] };
const readForm = async (body: string) => reader.check(Buffer.from(body), "application/json", []);
const XML_FORM: WellFormed = { kind: "xml", texts: [] };
const request = (body: string) => ({ body: Buffer.from(body), headers: {}, query: "" });
const xsd = (pattern: string) =>
  `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:simpleType name="t"><xs:restriction base="xs:string">
  <xs:pattern value="${pattern}"/></xs:restriction></xs:simpleType><xs:element name="o"><xs:complexType><xs:sequence>
  <xs:element name="q" type="t" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element></xs:schema>`;

function isUnavailable(error: unknown): boolean {
  if ((error as { code?: unknown }).code !== "unavailable") throw error;
  return false;
}

describe("the check of a webhook", () => {
  it("says nothing, and waits for nothing, where there is no validation", () => {
    checker.update([validation("other", {})]);
    expect(checker.check("orders", request("{}"), JSON_FORM)).toBeUndefined();
  });

  it("says the same in the thread and on the loop, however large the body is", async () => {
    checker.update([
      validation("orders", { type: "object", required: ["id"], properties: { id: { type: "integer" } } }),
    ]);
    const bodies = ['{"id":"a"}', JSON.stringify({ id: "a", filler: "x".repeat(200_000) })];
    const mismatches: unknown[] = [];
    const checkBoth = async () => {
      for (const body of bodies) {
        const checked = async () => checker.check("orders", request(body), await readForm(body));
        const { details } = await checked().then(
          () => ({ details: "passed" }),
          (error: PosthornError) => error,
        );
        mismatches.push(details);
      }
    };
    await until(async () => {
      await checkBoth();
      const valid = checker.check("orders", request('{"id":1}'), await readForm('{"id":1}'));
      await valid;
      // Until the document is compiled, all checks are in the thread.
      return valid === undefined;
    });
    await checkBoth();
    for (const found of mismatches)
      expect(found).toMatchObject({ errors: [{ path: "/id", message: "must be integer" }] });
  });

  // shows: B48
  it("takes a new document at once, also while the old one is being compiled", async () => {
    for (let version = 1; version <= 5; version++) {
      checker.update([validation("fast", { const: version }, version)]);
      await checker.check("fast", request(String(version)), JSON_FORM);
      const stale = async () => checker.check("fast", request(String(version - 1)), JSON_FORM);
      await expect(stale()).rejects.toMatchObject({ code: "validation_failed", details: { version } });
    }
  });

  // shows: B22
  it("goes by the default where an endpoint has none, and by the mode where there is no default", async () => {
    strict.update([]);
    expect(() => strict.check("orders", request("{}"), JSON_FORM)).toThrow(/no validation for orders/);
    strict.update([validation("default", { type: "array" })]);
    await strict.check("orders", request("[]"), JSON_FORM);
  });

  it("ends by the deadline, as the gateway's own trouble, and leaves the loop free meanwhile", async () => {
    hasty.update([validation("slow", xsd("(a|aa)+b"))]);
    const ticks: number[] = [];
    const timer = setInterval(() => ticks.push(performance.now()), 10);
    const body = `<o>${`<q>${"a".repeat(28)}</q>`.repeat(2000)}</o>`;
    const checked = hasty.check("slow", request(body), XML_FORM);
    await expect(checked).rejects.toMatchObject({ code: "unavailable" });
    clearInterval(timer);
    expect(ticks.length).toBeGreaterThan(0);
    // Those who come after it find a new thread, which a busy machine may need more than one deadline for.
    const isChecked = async () => hasty.check("slow", request("<o><q>aab</q></o>"), XML_FORM);
    await until(() => isChecked().then(() => true, isUnavailable));
  });

  it("of one endpoint does not wait for that of another that takes long", async () => {
    const threads = createChecker({ checkMs: 600_000, compileMs: 600_000 });
    const busy = createValidationChecker(threads, "strict");
    busy.update([validation("slow", xsd("(a|aa)+b")), validation("quick", xsd("a"))]);
    const body = `<o>${`<q>${"a".repeat(28)}</q>`.repeat(2000)}</o>`;
    let isSlowOver = false;
    const slow = [1, 2, 3].map(async () => busy.check("slow", request(body), XML_FORM));
    const ended = Promise.allSettled(slow.map((one) => one.finally(() => (isSlowOver = true))));
    await busy.check("quick", request("<o><q>a</q></o>"), XML_FORM);
    const wrong = async () => busy.check("quick", request("<o><q>b</q></o>"), XML_FORM);
    await expect(wrong()).rejects.toMatchObject({ code: "validation_failed" });
    expect(isSlowOver).toBe(false);
    await threads.close();
    const unavailable = { status: "rejected", reason: { code: "unavailable" } };
    expect(await ended).toMatchObject([unavailable, unavailable, unavailable]);
  });

  it("rejects a body of very many comments without building it, and takes one with some", async () => {
    const text =
      '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="o" type="xs:string"/></xs:schema>';
    strict.update([validation("texts", text)]);
    const bomb = async () => strict.check("texts", request(`<o>${"x<!---->".repeat(250_000)}</o>`), XML_FORM);
    await expect(bomb()).rejects.toMatchObject({ code: "validation_failed" });
    await strict.check("texts", request(`<o>${"x<!---->".repeat(1000)}</o>`), XML_FORM);
  });

  it("by a document that cannot be run fails, and leaves those of other endpoints alone", async () => {
    const other = { type: "object", title: "x".repeat(5000) };
    strict.update([validation("endless", { $ref: "#" }), validation("other", other)]);
    const calls = ["endless", "other", "endless", "other"].map(async (name) =>
      strict.check(name, request("{}"), JSON_FORM),
    );
    expect(await Promise.allSettled(calls)).toMatchObject([
      { status: "rejected", reason: { message: expect.stringMatching(/without end/) as string } },
      { status: "fulfilled" },
      { status: "rejected" },
      { status: "fulfilled" },
    ]);
    expect(await strict.examine(validation("endless", { $ref: "#" }))).toMatch(/without end/);
  });

  it("finds a document too costly to be compiled in good time", async () => {
    const many = "<xs:sequence maxOccurs='5000'>".repeat(12);
    const bomb = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="o"><xs:complexType>
      <xs:choice>${many}<xs:element name="a" minOccurs="0"/>${"</xs:sequence>".repeat(12)}</xs:choice>
      </xs:complexType></xs:element></xs:schema>`;
    // Whether libxml2 takes it or not, it ends.
    await hasty.examine(validation("bomb", bomb));
    expect(await strict.examine(validation("fine", xsd("a")))).toBeUndefined();
  });
});
