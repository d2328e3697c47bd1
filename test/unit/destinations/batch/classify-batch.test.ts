import { describe, expect, it } from "vitest";
import { buildInsertUrl, classifyBatch } from "../../../../src/destinations/batch/classify-batch.ts";

const RETRY_ON = { statuses: [], sourceStatuses: [], bodyContains: undefined, bodyIs: undefined };

function judged(status: number, body = "", headers: Record<string, string> = {}, more: object = {}) {
  const answer = { kind: "response", status, headers, body: Buffer.from(body), address: "", url: "" } as const;
  return classifyBatch(answer, { retryOn: RETRY_ON, isClickHouse: true, rowCount: 9, wall: () => 0, ...more });
}

describe("what is answered to a batch", () => {
  it.each([200, 201, 204])("is a success with %i", (status) => {
    expect(judged(status)).toMatchObject({ verdict: "taken", outcome: { kind: "delivered" } });
  });

  it.each([400, 409, 413, 415, 422])("may be about one of its rows with %i", (status) => {
    expect(judged(status)).toMatchObject({ verdict: "refused", outcome: { kind: "refused", says: "well" } });
  });

  it.each([401, 403, 404, 405, 408, 425, 429, 500, 503])("is about no row with %i: all are tried again", (status) => {
    expect(judged(status)).toMatchObject({ verdict: "stopped", outcome: { kind: "failed" } });
  });

  it("asks for a pause, which holds for all", () => {
    expect(judged(429, "", { "retry-after": "7" }).outcome).toMatchObject({ says: "limited", retryAfterMs: 7000 });
  });

  it("says that the destination is gone", () => {
    expect(judged(410)).toMatchObject({ verdict: "stopped", outcome: { kind: "gone" } });
  });

  it("is too large for a row that is alone", () => {
    expect(judged(413, "", {}, { rowCount: 1 }).outcome.deadReason).toBe("too_large");
  });

  it("is a failure where retry_on says so", () => {
    expect(judged(400, "", {}, { retryOn: { ...RETRY_ON, statuses: [400] } })).toMatchObject({ verdict: "stopped" });
  });

  it("holds the reason, on one line and not for long, and apart from the error", () => {
    const { outcome, said } = judged(400, "Code: 27.\n\tCannot\u0000 parse\u202e");
    expect([outcome.error, said]).toEqual(["answered 400", "Code: 27. Cannot parse"]);
    expect(judged(400, "x".repeat(8192)).said?.length).toBeLessThan(400);
    expect([judged(503, "").said, judged(200, "taken").said]).toEqual([undefined, undefined]);
  });
});

describe("an exception of ClickHouse", () => {
  const text = "Code: 469. DB::Exception: Constraint `positive` is violated: (at row 3)";

  it("is about a row by its code, whatever the status is, and names it", () => {
    for (const status of [200, 400, 500]) {
      expect(judged(status, text)).toMatchObject({ verdict: "refused", badRow: 2, outcome: { kind: "refused" } });
    }
    expect(judged(500, "", { "x-clickhouse-exception-code": "469" })).toMatchObject({ verdict: "refused" });
  });

  it("is about none with another code, also behind a status of 200", () => {
    const full = "Code: 241. DB::Exception: Memory limit exceeded";
    const error = "answered 200 with an exception";
    expect(judged(200, full)).toMatchObject({ verdict: "stopped", outcome: { kind: "failed", error }, said: full });
    expect(judged(500, full)).toMatchObject({ verdict: "stopped", outcome: { kind: "failed" } });
  });

  it("is what others may write without meaning it", () => {
    expect(judged(200, text, {}, { isClickHouse: false })).toMatchObject({ verdict: "taken" });
  });
});

describe("the URL of an INSERT", () => {
  const insertUrl = (settings: Record<string, string> = {}) =>
    new URL(buildInsertUrl("https://ch.example:8443/?database=d", { table: "analytics.events", settings }, "t0"));

  it("has the query, a token for the batch, and settings that fit the rows", () => {
    expect(Object.fromEntries(insertUrl().searchParams)).toEqual({
      database: "d",
      query: "INSERT INTO `analytics`.`events` FORMAT JSONEachRow",
      insert_deduplication_token: "t0",
      input_format_skip_unknown_fields: "1",
      date_time_input_format: "best_effort",
    });
  });

  it("waits for inserts that ClickHouse collects itself", () => {
    expect(insertUrl({ async_insert: "1" }).searchParams.get("wait_for_async_insert")).toBe("1");
    expect(insertUrl({ async_insert: "0" }).searchParams.has("wait_for_async_insert")).toBe(false);
    expect(
      insertUrl({ input_format_skip_unknown_fields: "0" }).searchParams.get("input_format_skip_unknown_fields"),
    ).toBe("0");
  });
});
