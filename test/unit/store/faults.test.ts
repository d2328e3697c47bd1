import { DatabaseSync } from "@photostructure/sqlite";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { FatalFault, faultError } from "../../../src/store/commit/batch.ts";
import { isCorruption, classifyFault, reportFault } from "../../../src/store/sqlite/faults.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";

function caught(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("an error of SQLite", () => {
  it.each([
    [5, "busy"],
    [6, "busy"],
    [7, "busy"],
    [8, "fatal"],
    [10, "fatal"],
    [11, "item"],
    [13, "full"],
    [14, "fatal"],
    [15, "busy"],
    [19, "item"],
    [26, "fatal"],
  ] as const)("with the code %i means %s", (errcode, fault) => {
    expect(classifyFault({ errcode })).toBe(fault);
    // The extended code of a failed fsync, for one, is IOERR and 4 in the second byte.
    expect(classifyFault({ errcode: errcode + 4 * 256 })).toBe(fault);
  });

  it("is checked by what the driver really throws", async () => {
    const db = new DatabaseSync(":memory:");
    db.exec("create table t (a integer primary key, b blob) strict; pragma max_page_count = 5");
    const insert = db.prepare("insert into t values (?, ?)");
    insert.run(1, null);
    expect(classifyFault(caught(() => insert.run(2, new Uint8Array(100_000))))).toBe("full");
    expect(classifyFault(caught(() => insert.run(1, null)))).toBe("item");
    expect(classifyFault(caught(() => insert.run(undefined as never, null)))).toBe("item");
    db.close();
    await collectGarbage();
  });

  it("is checked by its words where the driver gives no number", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-"));
    const file = join(folder, "damaged.db");
    const whole = new DatabaseSync(file);
    whole.exec("create table t (a); insert into t values (1)");
    whole.close();
    writeFileSync(file, readFileSync(file).fill(0xa5, 4096));
    const damaged = new DatabaseSync(file);
    const error = caught(() => damaged.prepare("select * from t").all());
    expect(error).not.toHaveProperty("errcode");
    expect(classifyFault(error)).toBe("item");
    expect(isCorruption(error)).toBe(true);
    expect(classifyFault(caught(() => damaged.prepare("select * from u").all()))).toBe("item");
    damaged.close();
    await collectGarbage();
    rmSync(folder, { recursive: true });
  });

  it("is corruption only when the file is damaged or no database", () => {
    expect([11, 26, 267, 10, 13].map((errcode) => isCorruption({ errcode }))).toEqual([true, true, true, false, false]);
    expect([undefined, null, "x", new Error("x")].map(isCorruption)).toEqual([false, false, false, false]);
  });
});

describe("a fault on its way to the caller", () => {
  it("becomes 503 with Retry-After when it is ours, and a mistake only when one item is at fault", () => {
    const codes = ([13, 5, 10, 19] as const).map((errcode) => faultError(reportFault({ errcode })));
    expect(codes.map(({ code }) => code)).toEqual(["store_full", "unavailable", "unavailable", "internal_error"]);
    expect(codes.slice(0, 3).every(({ retryAfterS }) => retryAfterS !== undefined)).toBe(true);
  });

  it("keeps all that one of our own errors says, also through a structured clone", () => {
    const error = new PosthornError("invalid_field", "no cursor", {
      field: "cursor",
      details: { a: 1 },
      retryAfterS: 2,
    });
    const arrived = faultError(structuredClone(reportFault(error)));
    expect(arrived).toBeInstanceOf(PosthornError);
    const { code, message, field, details, retryAfterS } = arrived;
    expect({ code, message, field, details, retryAfterS }).toEqual({
      code: "invalid_field",
      message: "no cursor",
      field: "cursor",
      details: { a: 1 },
      retryAfterS: 2,
    });
  });

  it("is fatal when a transaction could not be undone", () => {
    expect(reportFault(new FatalFault("stuck"))).toEqual({ fault: "fatal", message: "stuck" });
  });
});
