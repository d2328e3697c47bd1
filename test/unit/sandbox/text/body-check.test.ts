import { afterEach, describe, expect, it, afterAll } from "vitest";
import {
  createBodyChecker,
  type BodyChecker,
  type BodySender,
  type WellFormed,
} from "../../../../src/sandbox/text/body-check.ts";
import { PosthornError } from "../../../../src/model/errors.ts";

const TINY_TAGS = Buffer.from(`<r>${"<a/>".repeat(500_000)}</r>`);
const HALF_OF_THEM = Buffer.from(`<r>${"<a/>".repeat(250_000)}</r>`);
const LARGE_JSON = Buffer.from(`{"list":[${"[],".repeat(600_000)}0],"id":9007199254740993}`);
const named = (n: number) => ({ name: `declared-${n}`, declared: true });
const VICTIM: BodySender = { source: named(0), remoteAddress: "198.51.100.1" };

describe("checking bodies apart from the loop", () => {
  let bodies: BodyChecker;
  afterEach(() => bodies.close());

  it("says the same of a large body as of a small one, and leaves it as it was", async () => {
    bodies = createBodyChecker({ maxDepth: 10 });
    const pointers = [["id"], ["none"]];
    const small = bodies.check(Buffer.from('{"id":9007199254740993}'), "application/json", pointers);
    expect(small).toEqual({ kind: "json", texts: ["9007199254740993", undefined] });
    const before = Buffer.from(LARGE_JSON);
    const large = bodies.check(LARGE_JSON, "application/json", pointers);
    expect(large).toBeInstanceOf(Promise);
    expect(await large).toEqual(small);
    expect(LARGE_JSON.equals(before)).toBe(true);
    await expect(bodies.check(LARGE_JSON.subarray(1), "application/json", [])).rejects.toMatchObject({
      code: "unreadable_body",
      details: { line: 1, column: 7, position: 6 },
    });
    await expect(bodies.check(Buffer.from("<a>\n<b></a>"), "text/xml", [])).rejects.toMatchObject({
      code: "unreadable_body",
      details: { line: 2 },
    });
  });

  it("keeps the loop free meanwhile", async () => {
    bodies = createBodyChecker({ maxDepth: 10 });
    await bodies.check(Buffer.from("<a/>"), undefined, []);
    for (const body of [TINY_TAGS, LARGE_JSON]) {
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      await bodies.check(body, undefined, [["id"]]);
      clearInterval(timer);
      expect(turns).toBeGreaterThan(0);
    }
  });

  it("takes no more than it can hold, and goes on when there is room", async () => {
    bodies = createBodyChecker({ maxDepth: 10 });
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, async () => bodies.check(TINY_TAGS, undefined, [])),
    );
    const codes = results.map((result) =>
      result.status === "fulfilled" ? "ok" : (result.reason as { code: string }).code,
    );
    expect(codes.filter((code) => code === "ok")).toHaveLength(8);
    expect(codes.filter((code) => code === "overloaded")).toHaveLength(4);
    await bodies.check(Buffer.from("<a/>"), undefined, []);
  });

  it.each([
    {
      hostile: "names that were made up",
      from: (n: number) => ({ source: { name: `made-up-${n}`, declared: false }, remoteAddress: "192.0.2.1" }),
    },
    {
      hostile: "addresses of one network at the same source",
      from: (n: number) => ({ source: VICTIM.source, remoteAddress: `2001:db8::${n}` }),
    },
  ])("does not let $hostile hold up another sender", async ({ from }) => {
    bodies = createBodyChecker({ maxDepth: 10 });
    const check = async (body: Buffer, sender: BodySender) => bodies.check(body, "text/xml", [], sender);
    // Both threads have started.
    await Promise.all(Array.from({ length: 2 }, (_, n) => check(Buffer.from("<a/>"), { ...VICTIM, source: named(n) })));
    let ended = 0;
    const flood = Array.from({ length: 6 }, async (_, n) => {
      await check(HALF_OF_THEM, from(n));
      ended++;
    });
    const endedBefore = check(Buffer.from("<a/>"), VICTIM).then(() => ended);
    await Promise.allSettled([endedBefore, ...flood]);
    // All of them, where first come is first served.
    expect(await endedBefore).toBeLessThan(4);
    await Promise.all(flood);
  });

  it("tells those who wait when it ends", async () => {
    bodies = createBodyChecker({ maxDepth: 10 });
    const [waiting] = await Promise.allSettled([bodies.check(TINY_TAGS, undefined, []), bodies.close()]);
    expect(waiting).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  });
});

const bodies = createBodyChecker({ maxDepth: 128 });
const shallow = createBodyChecker({ maxDepth: 2 });
afterAll(() => Promise.all([bodies.close(), shallow.close()]));

function check(body: Buffer, contentType?: string): WellFormed | Promise<WellFormed> {
  return bodies.check(body, contentType, []);
}

async function outcome(body: string | Buffer, contentType?: string): Promise<string> {
  try {
    return (await check(Buffer.from(body as string), contentType)).kind;
  } catch (error) {
    if (error instanceof PosthornError) return error.code;
    throw error;
  }
}

describe("checking that a body is well-formed", () => {
  it.each([
    ["application/json", '{"a":1}', "json"],
    ["application/json; charset=UTF-8", "[1]", "json"],
    ['Application/Problem+JSON;charset="utf-8"', "3", "json"],
    ["text/json", "{", "unreadable_body"],
    ["application/xml", "<a/>", "xml"],
    ["image/svg+xml", "<a>", "unreadable_body"],
    ["text/plain", "{", "other"],
    ["application/x-ndjson", "{}\n{}", "other"],
    ["application/x-www-form-urlencoded", "a=1", "other"],
    ["application/json", "", "unreadable_body"],
    ["application/json", " \n", "unreadable_body"],
    ["text/xml", "", "unreadable_body"],
    ["text/plain", "", "other"],
  ])("goes by the content type %s of %j", async (contentType, body, expected) => {
    expect(await outcome(body, contentType)).toBe(expected);
  });

  it.each([
    ["", "other"],
    [" \n", "other"],
    ['\r\n\t {"a":1}', "json"],
    ["\ufeff[1]", "json"],
    ["[1", "unreadable_body"],
    ["  <a/>", "xml"],
    ["<a>", "unreadable_body"],
    ['"text"', "other"],
    ["12", "other"],
    ["hello", "other"],
    [Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-16"?><a/>', "utf16le"), "xml"],
    [Buffer.from([0, 0, 0x3c]), "other"],
  ])("goes by the looks of %j without a content type", async (body, expected) => {
    expect(await outcome(body)).toBe(expected);
    expect(await outcome(body, " ")).toBe(expected);
  });

  it("answers at once for all but XML", () => {
    expect(check(Buffer.from('\ufeff{"id":7}'), "application/json")).toEqual({ kind: "json", texts: [] });
    expect(check(Buffer.from("<a/>"), "text/plain")).toEqual({ kind: "other", texts: [] });
    expect(check(Buffer.from("<a/>"))).toBeInstanceOf(Promise);
  });

  it("takes a wrong charset for JSON only when it makes no difference", async () => {
    expect(await outcome('{"a":"b"}', "application/json; charset=iso-8859-1")).toBe("json");
    expect(await outcome('{"a":"é"}', "application/json; charset=us-ascii")).toBe("json");
    expect(() => check(Buffer.from('{"a":"é"}'), "application/json; charset=iso-8859-1")).toThrow(
      /text in the charset "iso-8859-1" where UTF-8 is expected at line 1, column 7 \(byte 6\)/,
    );
    expect(() => check(Buffer.from("{}", "utf16le"), "application/json; charset=utf-16")).toThrow(/looks like UTF-16/);
  });

  it("holds JSON and XML to the depth it is given", async () => {
    expect(() => shallow.check(Buffer.from("[[[]]]"), undefined, [])).toThrow(/deeper than 2 levels/);
    expect(() => shallow.check(Buffer.from("[[]]"), undefined, [])).not.toThrow();
    await expect(shallow.check(Buffer.from("<a><b><c></c></b></a>"), undefined, [])).rejects.toThrow(
      /deeper than 2 levels/,
    );
  });
});
