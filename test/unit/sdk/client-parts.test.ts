import { describe, expect, it } from "vitest";
import { PosthornApiError, PosthornConnectionError } from "../../../sdk/src/client/api-error.ts";
import { path, pathBelow, withQuery } from "../../../sdk/src/client/path.ts";
import { countFitting, readBatchLimits } from "../../../sdk/src/client/publish.ts";
import { delayBefore, isWorthRetrying, readBackoff } from "../../../sdk/src/client/retry.ts";

const error = (status: number, code: "overloaded" | "unavailable" | "conflict", retryAfterS?: number) =>
  new PosthornApiError({ type: "", title: "", detail: "", status, code }, retryAfterS);

describe("a path", () => {
  it("holds any id, and leaves out what is not asked for", () => {
    expect(path`/a/${"x/../y?#"}/b/${"ä"}`).toBe("/a/x%2F..%2Fy%3F%23/b/%C3%A4");
    expect(pathBelow("a b/c")).toBe("a%20b/c");
    expect(() => pathBelow("a/../b")).toThrow(/cannot be part of a path/);
    expect(withQuery("/a", { b: undefined, c: null })).toBe("/a");
    expect(withQuery("/a", { b: 1, c: false, d: "x&y", e: new Date(0) })).toBe(
      "/a?b=1&c=false&d=x%26y&e=1970-01-01T00%3A00%3A00.000Z",
    );
    expect(withQuery("/a", { label: ["team=blue", "x", undefined], none: [] })).toBe("/a?label=team%3Dblue&label=x");
  });
});

describe("a retry", () => {
  it("is made where the request cannot be carried out twice by it", () => {
    expect(isWorthRetrying(error(503, "overloaded"), false)).toBe(true);
    expect(isWorthRetrying(error(503, "unavailable"), false)).toBe(false);
    expect(isWorthRetrying(error(503, "unavailable"), true)).toBe(true);
    expect(isWorthRetrying(error(409, "conflict"), true)).toBe(false);
    expect(isWorthRetrying(new PosthornConnectionError("timeout", ""), true)).toBe(true);
    expect(isWorthRetrying(new PosthornConnectionError("timeout", ""), false)).toBe(false);
    expect(isWorthRetrying(new Error("of ours"), true)).toBe(false);
  });

  it("waits twice as long each time, or as long as the gateway asks for", () => {
    const backoff = readBackoff({ minDelayMs: 100, maxDelayMs: 1000 });
    const delays = [0, 1, 2, 3, 9].map((retry) => delayBefore(retry, undefined, backoff) ?? 0);
    expect(delays.map((ms, index) => ms / Math.min(1000, 100 * 2 ** [0, 1, 2, 3, 9][index]!))).toSatisfy(
      (shares: number[]) => shares.every((share) => share >= 0.5 && share <= 1),
    );
    expect(delayBefore(0, error(503, "overloaded", 0.5), backoff)).toBe(500);
    expect(delayBefore(0, error(503, "overloaded", 2), backoff)).toBeUndefined();
  });
});

describe("a batch", () => {
  const events = (...sizes: number[]) => sizes.map((bytes) => ({ text: "", bytes }));

  it("holds as many events as the gateway takes in one request, and at least one", () => {
    const limits = readBatchLimits({ maxItems: 3, maxBytes: 20 });
    expect(countFitting(events(4, 4, 4, 4), limits)).toBe(3);
    // [8,8] is 19 bytes with what stands around and between them, [8,9] is 20, [9,9] is 21.
    expect(countFitting(events(8, 9), limits)).toBe(2);
    expect(countFitting(events(9, 9), limits)).toBe(1);
    expect(countFitting(events(100, 1), limits)).toBe(1);
    expect(readBatchLimits({ maxItems: 5000, maxBytes: 1e9 })).toEqual({ maxItems: 1000, maxBytes: 16 * 1024 * 1024 });
  });
});
