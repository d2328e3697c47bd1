import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HttpResult } from "../../../../src/destinations/wire/http.ts";
import { classify, type RetryOn } from "../../../../src/destinations/classify-answer.ts";
import { NO_RETRY_ON } from "../../../support/http-outcomes.ts";

const NOON = Date.UTC(2026, 0, 1, 12);

function answer(status: number, body: string | Uint8Array = "", headers = {}): HttpResult {
  return { kind: "response", status, headers, body: Buffer.from(body), address: "192.0.2.1", url: "" };
}

const outcomeOf = (result: HttpResult, retryOn: Partial<RetryOn> = {}) =>
  classify(result, { ...NO_RETRY_ON, ...retryOn }, () => NOON);

describe("an answer", () => {
  it("of 2xx is a delivery", () => {
    for (const status of [200, 201, 202, 204, 299]) {
      expect(outcomeOf(answer(status))).toEqual({
        kind: "delivered",
        result: "success",
        error: undefined,
        says: "well",
        retryAfterMs: undefined,
        missesSource: false,
        deadReason: undefined,
      });
    }
  });

  // shows: A19, C61
  it.each([
    [408, "well"],
    [425, "well"],
    [429, "limited"],
    [500, "doubtful"],
    [501, "doubtful"],
    [502, "ill"],
    [503, "ill"],
    [504, "ill"],
    [520, "doubtful"],
    [521, "ill"],
    [526, "ill"],
    [530, "ill"],
    [599, "doubtful"],
  ])("of %i is tried again; of the destination it says: %s", (status, says) => {
    expect(outcomeOf(answer(status))).toEqual({
      kind: "failed",
      result: "failed",
      error: `answered ${status}`,
      says,
      retryAfterMs: undefined,
      missesSource: false,
      deadReason: undefined,
    });
  });

  it("of 508 is a dead letter where a gateway says that it goes round in a loop, and tried again elsewhere", () => {
    const loop = '{"type":"urn:posthorn:error:loop","title":"The event goes round in a loop"}';
    expect(outcomeOf(answer(508, loop))).toMatchObject({ kind: "refused", deadReason: undefined });
    expect(outcomeOf(answer(508, "Resource Limit Is Reached"))).toMatchObject({ kind: "failed" });
    expect(outcomeOf(answer(508, loop), { statuses: [508] })).toMatchObject({ kind: "failed" });
  });

  // shows: C61
  it.each([301, 303, 307, 400, 401, 404, 409, 422, 499])("of %i is a dead letter", (status) => {
    expect(outcomeOf(answer(status))).toMatchObject({ kind: "refused", result: "failed", says: "well" });
  });

  it("of 600 is a dead letter, whatever it is", () => {
    expect(outcomeOf(answer(600))).toMatchObject({ kind: "refused", result: "failed", says: "doubtful" });
  });

  it("of 410 says that the destination is gone", () => {
    expect(outcomeOf(answer(410))).toMatchObject({ kind: "gone", result: "failed", says: "well" });
  });

  it.each([429, 503])("of %i may say when to come again, and others may not", (status) => {
    const headers = { "retry-after": "7" };
    expect(outcomeOf(answer(status, "", headers))).toMatchObject({ kind: "failed", retryAfterMs: 7000 });
    expect(outcomeOf(answer(502, "", headers)).retryAfterMs).toBeUndefined();
  });
});

describe("no answer", () => {
  it.each([
    ["timed_out", "failed", "timeout", "ill"],
    ["unreachable", "failed", "connection_error", "ill"],
    ["error", "failed", "error", "nothing"],
    ["blocked", "blocked", "blocked", "nothing"],
  ] as const)("%s: %s", (how, kind, result, says) => {
    const outcome = outcomeOf({ kind: how, error: "why" }, { statuses: [200, 404], bodyContains: "x" });
    expect(outcome).toMatchObject({ kind, result, says, error: "why", deadReason: undefined });
  });

  it("in time, but the beginning of a 429, says that it was too much", () => {
    const response = { status: 429, headers: {}, body: Buffer.alloc(0) };
    const outcome = outcomeOf({ kind: "timed_out", error: "late", response });
    expect(outcome).toMatchObject({ kind: "failed", result: "timeout", says: "limited" });
  });
});

describe("retry_on", () => {
  it("turns any named status into a failure of the destination that is tried again", () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), (status) => {
        const result = outcomeOf(answer(status), { statuses: [status] });
        expect(result).toMatchObject({ kind: "failed", result: "failed", says: status === 429 ? "limited" : "ill" });
        expect(result.error).toContain(String(status));
        const other = outcomeOf(answer(status), { statuses: [status === 200 ? 201 : 200] });
        expect(other).toEqual(outcomeOf(answer(status)));
      }),
    );
  });

  it("turns a success with the named text into one, as bytes of UTF-8", () => {
    const starting = { statuses: [404], bodyContains: "n8n is starting up. Please wait" };
    expect(outcomeOf(answer(200, "<p>n8n is starting up. Please wait</p>"), starting)).toMatchObject({
      kind: "failed",
      says: "ill",
    });
    expect(outcomeOf(answer(200, "Workflow was started"), starting).kind).toBe("delivered");
    expect(outcomeOf(answer(200, "später"), { bodyContains: "ä" }).kind).toBe("failed");
    const part = Buffer.from("xxwaitxx").subarray(2, 5);
    const cut: HttpResult = { kind: "response", status: 200, headers: {}, body: part, address: "", url: "" };
    expect(outcomeOf(cut, { bodyContains: "wait" }).kind).toBe("delivered");
  });

  it("leaves the text of a rejection alone", () => {
    expect(outcomeOf(answer(400, "wait"), { bodyContains: "wait" }).kind).toBe("refused");
  });
});

describe("a destination that a sender waits for", () => {
  const forward = { allOthers: true };

  it.each([301, 302, 400, 401, 404, 409, 410, 422, 499, 500])("is tried again after %i", (status) => {
    expect(outcomeOf(answer(status), forward)).toMatchObject({ kind: "failed", missesSource: false });
  });

  it("is never tried again after a loop", () => {
    const loop = '{"type":"urn:posthorn:error:loop"}';
    expect(outcomeOf(answer(508, loop), forward).kind).toBe("refused");
  });
});

describe("give_up_on", () => {
  it("ends the delivery after any named status, and no other", () => {
    for (const allOthers of [true, false]) {
      for (const status of [404, 410, 422, 429, 500, 503]) {
        expect(outcomeOf(answer(status), { allOthers, giveUpOn: [status] }).kind).toBe("refused");
        expect(outcomeOf(answer(status), { allOthers, giveUpOn: [400] })).toEqual(
          outcomeOf(answer(status), { allOthers }),
        );
      }
    }
  });

  it("goes before a source that the destination does not know, and not before a tunnel without a route", () => {
    const retryOn = { giveUpOn: [404], sourceStatuses: [404], emptyStatuses: [404] };
    expect(outcomeOf(answer(404, "{}"), retryOn).kind).toBe("refused");
    expect(outcomeOf(answer(404), retryOn)).toMatchObject({ kind: "failed", says: "ill" });
  });
});

describe("how an attempt is told", () => {
  // shows: C38
  it("has one word for each kind of outcome", () => {
    const results: HttpResult[] = [
      answer(200),
      answer(500),
      answer(410),
      { kind: "timed_out", error: "" },
      { kind: "unreachable", error: "" },
      { kind: "blocked", error: "" },
      { kind: "error", error: "" },
    ];
    expect(results.map((one) => outcomeOf(one).result)).toEqual([
      "success",
      "failed",
      "failed",
      "timeout",
      "connection_error",
      "blocked",
      "error",
    ]);
  });
});
