import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classify } from "../../../src/domain/classify.ts";
import { attemptResult, type Outcome } from "../../../src/domain/outcome.ts";

const nothing = { statuses: [], bodyContains: undefined };

function response(status: number, body = "") {
  return { status, headers: "{}", body: Buffer.from(body) };
}

function answer(status: number, body = ""): Outcome {
  if (status >= 200 && status < 300) return { kind: "delivered", response: response(status, body) };
  if (status === 410) return { kind: "gone", response: response(status, body), error: "answered 410" };
  return { kind: "refused", response: response(status, body), error: `answered ${status}` };
}

describe("an answer", () => {
  it("of 2xx is a delivery", () => {
    for (const status of [200, 201, 202, 204, 299]) {
      expect(classify(answer(status), nothing)).toEqual({
        verdict: "delivered",
        countsAgainstEndpoint: false,
        suspends: false,
        error: undefined,
      });
    }
  });

  it.each([
    [408, false],
    [425, false],
    [429, true],
    [500, false],
    [501, false],
    [502, true],
    [503, true],
    [504, true],
    [599, false],
  ])("of %i is tried again; counts against the destination: %s", (status, counts) => {
    expect(classify(answer(status), nothing)).toEqual({
      verdict: "retry",
      countsAgainstEndpoint: counts,
      suspends: false,
      error: `answered ${status}`,
    });
  });

  it("of 508 is a dead letter where a gateway says that it goes round in a loop, and tried again elsewhere", () => {
    const loop = '{"type":"urn:posthorn:error:loop","title":"The event goes round in a loop"}';
    expect(classify(answer(508, loop), nothing)).toMatchObject({ verdict: "dead", deadReason: "refused" });
    expect(classify(answer(508, "Resource Limit Is Reached"), nothing)).toMatchObject({ verdict: "retry" });
    expect(classify(answer(508, loop), { ...nothing, statuses: [508] })).toMatchObject({ verdict: "retry" });
  });

  it.each([301, 303, 307, 400, 401, 404, 409, 422, 499, 600])("of %i is a dead letter", (status) => {
    expect(classify(answer(status), nothing)).toMatchObject({
      verdict: "dead",
      deadReason: "refused",
      countsAgainstEndpoint: false,
      suspends: false,
    });
  });

  it("of 410 is a dead letter and suspends the subscription", () => {
    expect(classify(answer(410), nothing)).toMatchObject({ verdict: "dead", deadReason: "gone", suspends: true });
  });
});

describe("no answer", () => {
  it.each([
    [{ kind: "timed_out", error: "no answer within 30 s" }, "retry", true],
    [{ kind: "unreachable", error: "ECONNREFUSED" }, "retry", true],
    [{ kind: "error", error: "gateway stopped" }, "retry", false],
    [{ kind: "blocked", error: "10.0.0.1 is private" }, "dead", false],
  ] as const)("%o: %s", (outcome, verdict, countsAgainstEndpoint) => {
    const result = classify(outcome, { statuses: [200, 404], bodyContains: "x" });
    expect(result).toMatchObject({ verdict, countsAgainstEndpoint, suspends: false, error: outcome.error });
    expect(result.deadReason).toBe(outcome.kind === "blocked" ? "blocked" : undefined);
  });
});

describe("retry_on", () => {
  it("turns any named status into a failure of the destination that is tried again", () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), (status) => {
        const result = classify(answer(status), { statuses: [status], bodyContains: undefined });
        expect(result).toMatchObject({ verdict: "retry", countsAgainstEndpoint: true, suspends: false });
        expect(result.error).toContain(String(status));
        const other = classify(answer(status), { statuses: [status === 200 ? 201 : 200], bodyContains: undefined });
        expect(other).toEqual(classify(answer(status), nothing));
      }),
    );
  });

  it("turns a success with the named text into one, as bytes of UTF-8", () => {
    const starting = { statuses: [404], bodyContains: "n8n is starting up. Please wait" };
    expect(classify(answer(200, "<p>n8n is starting up. Please wait</p>"), starting)).toMatchObject({
      verdict: "retry",
      countsAgainstEndpoint: true,
    });
    expect(classify(answer(200, "Workflow was started"), starting).verdict).toBe("delivered");
    expect(classify(answer(200, "später"), { statuses: [], bodyContains: "ä" }).verdict).toBe("retry");
    const part = Buffer.from("xxwaitxx").subarray(2, 5);
    const cut: Outcome = { kind: "delivered", response: { ...response(200), body: part } };
    expect(classify(cut, { statuses: [], bodyContains: "wait" }).verdict).toBe("delivered");
  });

  it("leaves the text of a refusal alone", () => {
    expect(classify(answer(400, "wait"), { statuses: [], bodyContains: "wait" }).verdict).toBe("dead");
  });
});

describe("how an attempt is told", () => {
  it("has one word for each kind of outcome", () => {
    const kinds: Outcome[] = [
      answer(200),
      answer(500),
      answer(410),
      { kind: "timed_out", error: "" },
      { kind: "unreachable", error: "" },
      { kind: "blocked", error: "" },
      { kind: "error", error: "" },
    ];
    expect(kinds.map(attemptResult)).toEqual([
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
