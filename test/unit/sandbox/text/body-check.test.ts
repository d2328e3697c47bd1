import { afterEach, describe, expect, it } from "vitest";
import { createBodyChecker, type BodyChecker, type BodySender } from "../../../../src/sandbox/text/body-check.ts";

const TINY_TAGS = Buffer.from(`<r>${"<a/>".repeat(500_000)}</r>`);
const HALF_OF_THEM = Buffer.from(`<r>${"<a/>".repeat(250_000)}</r>`);
const LARGE_JSON = Buffer.from(`{"list":[${"[],".repeat(600_000)}0],"id":9007199254740993}`);
const named = (n: number) => ({ name: `declared-${n}`, declared: true });
const VICTIM: BodySender = { source: named(0), remoteAddress: "198.51.100.1" };

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

  it.each([
    {
      hostile: "names that were made up",
      from: (n: number) => ({ source: { name: `made-up-${n}`, declared: false }, remoteAddress: "192.0.2.1" }),
    },
    {
      hostile: "addresses of one network at the same source",
      from: (n: number) => ({ source: VICTIM.source, remoteAddress: `2001:db8::${n}` }),
    },
  ])("does not let $hostile hold up another sender", async ({ from }) => {
    bodies = createBodyChecker({ maxDepth: 10 });
    const check = async (body: Buffer, sender: BodySender) => bodies.check(body, "text/xml", [], false, sender);
    // Both threads have started.
    await Promise.all(Array.from({ length: 2 }, (_, n) => check(Buffer.from("<a/>"), { ...VICTIM, source: named(n) })));
    let ended = 0;
    const flood = Array.from({ length: 6 }, async (_, n) => {
      await check(HALF_OF_THEM, from(n));
      ended++;
    });
    const endedBefore = check(Buffer.from("<a/>"), VICTIM).then(() => ended);
    await Promise.allSettled([endedBefore, ...flood]);
    // All of them, where first come is first served.
    expect(await endedBefore).toBeLessThan(4);
    await Promise.all(flood);
  });

  it("tells those who wait when it ends", async () => {
    bodies = createBodyChecker({ maxDepth: 10 });
    const [waiting] = await Promise.allSettled([bodies.check(TINY_TAGS, undefined, []), bodies.close()]);
    expect(waiting).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  });
});
