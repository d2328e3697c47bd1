import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeRequest, readBody } from "../../../src/intake/request.ts";
import { PassThrough } from "node:stream";
import type { IncomingMessage } from "node:http";

const REQUEST = { method: "POST", path: "/webhook/shop", query: "", remoteAddress: "203.0.113.1", headers: {} };

describe("what is kept of a request", () => {
  it("is what came, when there is nothing to hide", () => {
    const headers = { "content-type": "application/json", "x-id": "7" };
    const kept = JSON.parse(describeRequest({ ...REQUEST, query: "a=1&b", headers }, undefined)) as object;
    const { remoteAddress: remote_address, ...others } = REQUEST;
    expect(kept).toEqual({ ...others, remote_address, query: "a=1&b", headers });
  });

  it("holds no text that is to be hidden, in whatever header or parameter it came", () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9+/=_-]{8,40}$/);
    const name = fc.stringMatching(/^[a-z]{1,3}-[a-z]{1,8}$/);
    fc.assert(
      fc.property(secret, name, fc.stringMatching(/^[a-z ]{0,5}$/), (text, header, before) => {
        const query = `x=1&${header}=${encodeURIComponent(before + text)}&y=2`;
        const headers = { [header]: `${before}${text}`, "x-list": ["a", text] };
        const request = { ...REQUEST, query, headers } as unknown as Parameters<typeof describeRequest>[0];
        const kept = describeRequest(request, { header: undefined, texts: [text] });
        expect(kept).not.toContain(text);
        expect(kept).not.toContain(encodeURIComponent(text));
        expect(kept).toContain("x=1&");
        expect(describeRequest(request, undefined)).toContain(JSON.stringify(text).slice(1, -1));
      }),
    );
  });

  it("masks the header of the token whatever stands in it, and a short secret only where it stands alone", () => {
    const headers = { "x-odd": "wrong", "x-other": "abc", "x-more": "abcdef" };
    const kept = JSON.parse(
      describeRequest({ ...REQUEST, query: "%ff=%ff&k=abc", headers }, { header: "x-odd", texts: ["abc"] }),
    ) as object;
    expect(kept).toMatchObject({
      query: "%ff=%ff&k=***",
      headers: { "x-odd": "***", "x-other": "***", "x-more": "abcdef" },
    });
  });
});

const MIB = 1024 * 1024;

/** What one body comes to when it is sent in parts, beside others that hold so much already. */
async function read(parts: readonly Buffer[], maxUnansweredBytes: number, declared?: number) {
  const work = { unansweredBytes: 0 };
  const request = new PassThrough() as unknown as IncomingMessage & PassThrough;
  request.headers = declared === undefined ? {} : { "content-length": String(declared) };
  const result = new Promise<Buffer | string>((resolve) => {
    readBody(request, 30 * MIB, { work, maxUnansweredBytes }, resolve, (error) => resolve(error.code));
  });
  for (const part of parts) request.write(part);
  request.end();
  return { result: await result, work };
}

const parts = Array.from({ length: 5 }, (_, at) => Buffer.alloc(MIB, at));
const all = Buffer.concat(parts);

describe("the body of a request", () => {
  it("is what came, with its length declared or not, and counted until somebody takes it", async () => {
    for (const declared of [undefined, all.length]) {
      const { result, work } = await read(parts, 100 * MIB, declared);
      expect(all.equals(result as Buffer)).toBe(true);
      expect(work.unansweredBytes).toBe(all.length);
    }
  });

  it("that is large is given up where there is no room for it, and holds nothing then", async () => {
    const { result, work } = await read(parts, 3 * MIB, all.length);
    expect(result).toBe("overloaded");
    expect(work.unansweredBytes).toBe(0);
  });

  it("that is small is taken all the same: its sender was let in", async () => {
    const { result } = await read(parts.slice(0, 2), MIB);
    expect(result).toHaveLength(2 * MIB);
  });
});
