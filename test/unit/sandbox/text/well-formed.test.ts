import { afterAll, describe, expect, it } from "vitest";
import { PosthornError } from "../../../../src/model/errors.ts";
import { createBodyChecker } from "../../../../src/sandbox/text/body-check.ts";
import type { WellFormed } from "../../../../src/sandbox/text/well-formed.ts";

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
