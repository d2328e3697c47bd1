import { afterEach, describe, expect, it } from "vitest";
import { createBodyChecker, type BodyChecker } from "../../../../src/receive/text/body-check.ts";

const TINY_TAGS = Buffer.from(`<r>${"<a/>".repeat(500_000)}</r>`);
const LARGE_JSON = Buffer.from(`{"list":[${"[],".repeat(600_000)}0],"id":9007199254740993}`);

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

  it("tells those who wait when it ends", async () => {
    bodies = createBodyChecker({ maxDepth: 10 });
    const [waiting] = await Promise.allSettled([bodies.check(TINY_TAGS, undefined, []), bodies.close()]);
    expect(waiting).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  });
});
