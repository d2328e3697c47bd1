import { PassThrough } from "node:stream";
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { readBody } from "../../../src/intake/read-body.ts";

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
