import { afterEach, describe, expect, it } from "vitest";
import { createXmlChecker, type XmlChecker } from "../../../src/receive/xml-check.ts";

const TINY_TAGS = Buffer.from(`<r>${"<a/>".repeat(500_000)}</r>`);

describe("checking XML in a thread", () => {
  let xml: XmlChecker;
  afterEach(() => xml.close());

  it("says the same as the reader itself, and leaves the body as it was", async () => {
    xml = createXmlChecker();
    const body = Buffer.from("<a>é</a>");
    await xml.check(body, undefined, 10);
    expect(body.toString()).toBe("<a>é</a>");
    await expect(xml.check(Buffer.from("<a>\n<b></a>"), undefined, 10)).rejects.toMatchObject({
      code: "unreadable_body",
      details: { line: 2 },
    });
    await expect(xml.check(Buffer.from("<a><b/></a>").subarray(3), undefined, 10)).rejects.toMatchObject({
      code: "unreadable_body",
    });
  });

  it("keeps the loop free meanwhile", async () => {
    xml = createXmlChecker();
    await xml.check(Buffer.from("<a/>"), undefined, 10);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await xml.check(TINY_TAGS, undefined, 10);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  it("takes no more than it can hold, and goes on when there is room", async () => {
    xml = createXmlChecker();
    const checks = Array.from({ length: 12 }, () => xml.check(TINY_TAGS, undefined, 10));
    const results = await Promise.allSettled(checks);
    const codes = results.map((result) => (result.status === "fulfilled" ? "ok" : (result.reason as { code: string }).code));
    expect(codes.filter((code) => code === "ok")).toHaveLength(8);
    expect(codes.filter((code) => code === "overloaded")).toHaveLength(4);
    await xml.check(Buffer.from("<a/>"), undefined, 10);
  });

  it("tells those who wait when it ends", async () => {
    xml = createXmlChecker();
    const waiting = expect(xml.check(TINY_TAGS, undefined, 10)).rejects.toMatchObject({ code: "unavailable" });
    await xml.close();
    await waiting;
  });
});
