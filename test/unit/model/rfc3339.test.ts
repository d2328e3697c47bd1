import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findRfc3339, findTime } from "../../../src/model/rfc3339.ts";

describe("times as RFC 3339 writes them", () => {
  it("are read as Date reads them, for every year from 0 to 9999", () => {
    const anyDate = fc.date({
      min: new Date("0000-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59.999Z"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(anyDate, (date) => {
        expect(findRfc3339(date.toISOString())).toBe(date.getTime());
      }),
    );
  });

  it.each([
    ["1985-04-12T23:20:50.52Z", Date.UTC(1985, 3, 12, 23, 20, 50, 520)],
    ["1996-12-19T16:39:57-08:00", Date.UTC(1996, 11, 20, 0, 39, 57)],
    ["1990-12-31T23:59:60Z", Date.UTC(1991, 0, 1)],
    ["1990-12-31T15:59:60-08:00", Date.UTC(1991, 0, 1)],
    ["2026-01-31t12:00:00.9999999z", Date.UTC(2026, 0, 31, 12, 0, 0, 999)],
    ["2024-02-29T00:00:00+05:45", Date.UTC(2024, 1, 28, 18, 15)],
  ])("reads %s", (text, expected) => {
    expect(findRfc3339(text)).toBe(expected);
  });

  it.each([
    "",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-01-31 12:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:60:00Z",
    "2026-01-31T12:00:60Z",
    "2026-01-31T12:00:00+24:00",
    "2026-01-31T12:00:00.Z",
    "+002026-01-31T12:00:00Z",
    "1769860800",
    "2026-01-31T12:00:00Z\n",
  ])("finds no time in %j", (text) => {
    expect(findRfc3339(text)).toBeUndefined();
  });

  it("may come with a space or without an offset from programs that write them so, meant as UTC", () => {
    for (const text of ["2026-01-31 12:00:00", "2026-01-31T12:00:00", "2026-01-31 13:00:00+01:00"]) {
      expect([text, findTime(text)]).toEqual([text, Date.UTC(2026, 0, 31, 12)]);
      expect(findRfc3339(text)).toBeUndefined();
    }
    expect(findTime("2026-01-31 12:00:00.999999")).toBe(Date.UTC(2026, 0, 31, 12, 0, 0, 999));
    for (const text of ["2026-02-29 00:00:00", "2026-01-31", "2026-01-31  12:00:00", "2026-01-31 12:00", ""]) {
      expect([text, findTime(text)]).toEqual([text, undefined]);
    }
  });
});
