import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { createLogger } from "../../../src/telemetry/logger.ts";
import { createServerErrors } from "../../../src/telemetry/server-errors.ts";

function open() {
  const lines: Record<string, unknown>[] = [];
  const counted: string[] = [];
  let now = 0;
  const logger = createLogger({
    level: "info",
    maxBytes: 1e6,
    keep: 1,
    pretty: false,
    stdout: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const note = createServerErrors({
    logger,
    metrics: { countServerError: (code) => counted.push(code) },
    now: () => now,
  });
  return { note, lines, counted, pass: (ms: number) => void (now += ms) };
}

const place = { method: "POST", path: "/webhook/shop" };
const overloaded = () => new PosthornError("overloaded", "Too many events wait.");

describe("answers of 5xx", () => {
  it("are all counted, and told at once with their cause", () => {
    const { note, lines, counted } = open();
    note(overloaded(), place);
    note(new PosthornError("store_full", "The disk is full.", { cause: new Error("ENOSPC") }), place);
    note(new Error("a bug"), place);
    expect(counted).toEqual(["overloaded", "store_full", "internal_error"]);
    expect(lines).toMatchObject([
      { level: "warn", code: "overloaded", status: 503, detail: "Too many events wait.", path: "/webhook/shop" },
      { level: "warn", code: "store_full", detail: "The disk is full." },
      { level: "error", code: "internal_error", status: 500, error: { message: "a bug" } },
    ]);
  });

  it("of one kind are told once in ten seconds, with how many there were in between", () => {
    const { note, lines, counted, pass } = open();
    for (let n = 0; n < 1000; n++) note(overloaded(), place);
    expect(lines).toHaveLength(1);
    pass(10_000);
    note(overloaded(), place);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ untold: 999 });
    expect(counted).toHaveLength(1001);
  });
});
