import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ERRORS, PosthornError } from "../../../src/model/errors.ts";

const docs = readFileSync(new URL("../../../docs/reference/errors.md", import.meta.url), "utf8");

function documentedRows(text: string) {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => {
      const [, code = "", status, title, advice = ""] = line.split("|").map((cell) => cell.trim());
      const exitCode = /Exit code (\d)\.$/.exec(advice)?.[1];
      return { code: code.replaceAll("`", ""), status: Number(status), title, advice, exitCode };
    });
}

describe("the table of errors", () => {
  it("is the same in docs/reference/errors.md, row by row and in both directions", () => {
    const documented = documentedRows(docs).map(({ code, status, title, exitCode }) => ({
      code,
      status,
      title,
      exitCode,
    }));
    const inCode = Object.entries(ERRORS).map(([code, row]) => ({
      code,
      status: row.status,
      title: row.title,
      exitCode: row.exitCode?.toString(),
    }));
    expect(documented).toEqual(inCode);
  });

  it("tells the reader of every row what to do", () => {
    expect(documentedRows(docs).filter(({ advice }) => advice.length < 20)).toEqual([]);
  });

  it("never blames the sender for the gateway's own trouble", () => {
    const own = ["internal_error", "unavailable", "overloaded", "store_full", "shutting_down"] as const;
    for (const code of own) expect(ERRORS[code].status).toBeGreaterThanOrEqual(500);
  });
});

describe("PosthornError", () => {
  it("carries its code, field, details, wait and cause", () => {
    const cause = new Error("ENOSPC");
    const error = new PosthornError("store_full", "No space.", {
      cause,
      field: "url",
      details: { free_bytes: 0 },
      retryAfterS: 5,
    });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: "PosthornError",
      message: "No space.",
      code: "store_full",
      field: "url",
      details: { free_bytes: 0 },
      retryAfterS: 5,
    });
    expect(error.cause).toBe(cause);
  });

  it("has no cause when none was given", () => {
    expect("cause" in new PosthornError("not_found", "No event evt_1.")).toBe(false);
  });
});
