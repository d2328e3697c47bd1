import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AnswerHead, AnswerReader } from "../../../../src/destinations/wire/answer-reader.ts";

interface Read {
  heads: Pick<AnswerHead, "status" | "headers">[];
  body: string;
  /** Undefined while it goes on. */
  isClean: boolean | undefined;
  problem: string | undefined;
}

/** Reads pieces as they would come in, all from one buffer that is used again; then the destination ends. */
function read(pieces: readonly Buffer[], maxHeadBytes = 16_384): Read {
  const got: Read = { heads: [], body: "", isClean: undefined, problem: undefined };
  const reader = new AnswerReader(maxHeadBytes);
  const shared = Buffer.alloc(70_000);
  reader.expect({
    takeHead: ({ status, headers }) => void got.heads.push({ status, headers }),
    takeBody: (bytes) => void (got.body += Buffer.from(bytes).toString("latin1")),
    takeEnd: (isClean) => void (got.isClean = isClean),
  });
  for (const piece of pieces) {
    piece.copy(shared);
    const reading = reader.read(shared.subarray(0, piece.length));
    if (reading !== "going on") return { ...got, problem: reading.problem };
  }
  reader.end();
  return got;
}

const whole = (text: string) => read([Buffer.from(text, "latin1")]);
const byByte = (text: string) => read([...Buffer.from(text, "latin1")].map((byte) => Buffer.from([byte])));

describe("an answer is read", () => {
  it.each<[string, string, string, boolean]>([
    ["by its length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", true],
    [
      "in chunks",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
      "ok0123456789",
      true,
    ],
    ["with trailers", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nx-a: b\r\n\r\n", "x", true],
    ["without a body", "HTTP/1.1 204 No Content\r\n\r\n", "", true],
    ["with a length of nothing", "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", "", true],
    ["with a length of nothing in two digits", "HTTP/1.1 200 OK\r\ncontent-length: 00\r\n\r\n", "", true],
    ["up to the end of the connection", "HTTP/1.1 200 OK\r\n\r\nall of it", "all of it", false],
    ["of an old server", "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx", "x", false],
    [
      "of an old server that keeps connections",
      "HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 1\r\n\r\nx",
      "x",
      true,
    ],
    [
      "that speaks of a name which only ends like close",
      "HTTP/1.1 200 OK\r\nconnection: not-close\r\ncontent-length: 1\r\n\r\nx",
      "x",
      true,
    ],
    [
      "that is the last, among other words",
      "HTTP/1.1 200 OK\r\nconnection: x\r\nconnection: y , Close\r\ncontent-length: 1\r\n\r\nx",
      "x",
      false,
    ],
    ["that is the last", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx", "x", false],
    [
      "after others with 1xx",
      "HTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
      "x",
      true,
    ],
    ["with a length between spaces", "HTTP/1.1 200 OK\r\ncontent-length: \t 1 \t\r\n\r\nx", "x", true],
    ["with a coding between spaces", "HTTP/1.1 200 OK\r\ntransfer-encoding:\tchunked \r\n\r\n0 \r\n\r\n", "", true],
    [
      "in chunks with extensions",
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a\r\nx\r\n1 ; a = "b;\\"" ;c=d\r\ny\r\n0;e\r\n\r\n',
      "xy",
      true,
    ],
    [
      "in chunks of an old server",
      "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      "x",
      false,
    ],
    ["in a coding that only its end ends", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nx", "x", false],
  ])("%s", (_, text, body, isClean) => {
    for (const got of [whole(text), byByte(text)]) expect(got).toMatchObject({ body, isClean, problem: undefined });
  });

  it("with its headers, in lower case and joined, and without their spaces", () => {
    const text =
      "HTTP/1.1 201 Made\r\nX-A: 1\r\nx-a:\t 2 \r\nEmpty:\r\n__proto__: x\r\nconstructor: y\r\ncontent-length: 0\r\n\r\n";
    const headers = { "x-a": "1, 2", empty: "", constructor: "y", "content-length": "0" };
    for (const got of [whole(text), byByte(text)]) expect(got.heads).toEqual([{ status: 201, headers }]);
  });

  it("and what follows it makes the connection useless", () => {
    expect(whole("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxy")).toMatchObject({ body: "x", isClean: false });
    expect(whole("HTTP/1.1 204 X\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")).toMatchObject({ body: "", isClean: false });
    const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n!";
    expect(whole(chunked)).toMatchObject({ body: "", isClean: false });
  });

  it.each([
    ["another protocol", "SMTP ready\r\n\r\n"],
    ["another version", "HTTP/2.0 200 OK\r\n\r\n"],
    ["a status that is none", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status below 100", "HTTP/1.1 000 OK\r\n\r\n"],
    ["a change of protocol", "HTTP/1.1 101 X\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"],
    ["a length beside chunks", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"],
    ["a negative length", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
    ["a header without a colon", "HTTP/1.1 200 OK\r\nx-a\r\n\r\n"],
    ["a space before the colon", "HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\n"],
    ["a folded header", "HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n\r\n"],
    ["a bare line feed", "HTTP/1.1 200 OK\r\nx-a: b\nx-c: d\r\n\r\n"],
    ["a bare carriage return", "HTTP/1.1 200 OK\r\nx-a: b\rc\r\n\r\n"],
    ["a zero byte", "HTTP/1.1 200 OK\r\nx-a: b\0c\r\n\r\n"],
    ["a chunk of no size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n"],
    ["a chunk that goes on", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxy\r\n"],
    ["a size that ends with a bare line feed", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\nx\r\n"],
    ["chunks within another coding", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["chunks within chunks", `HTTP/1.1 200 OK\r\n${"transfer-encoding: chunked\r\n".repeat(2)}\r\n0\r\n\r\n`],
    ["an extension of nothing", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;\r\nx\r\n"],
    ["an extension that does not end", 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a="b\r\nx\r\n'],
    ["a trailer without a colon", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx\r\n\r\n"],
    ["a folded trailer", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: a\r\n b\r\n\r\n"],
    ["a trailer with a zero byte", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: \0\r\n\r\n"],
    ["a trailer with a bare carriage return", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\r\n\r\n"],
    [
      "a 1xx that closes",
      "HTTP/1.1 103 Hints\r\nconnection: close\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ],
    ["a chunk extension with a zero byte", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;\0\r\nx\r\n"],
    ...["\xa0", "\x0b", "\x0c", "\x85", "\xad"].flatMap((space): [string, string][] => [
      [`${JSON.stringify(space)} before a length`, `HTTP/1.1 200 OK\r\ncontent-length:${space}1\r\n\r\nx`],
      [`${JSON.stringify(space)} after a length`, `HTTP/1.1 200 OK\r\ncontent-length: 1${space}\r\n\r\nx`],
      [
        `${JSON.stringify(space)} before a coding`,
        `HTTP/1.1 200 OK\r\ntransfer-encoding:${space}chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
      ],
      [
        `${JSON.stringify(space)} after a coding`,
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked${space}\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
      ],
      [
        `${JSON.stringify(space)} around the size of a chunk`,
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${space}1${space}\r\nx\r\n0\r\n\r\n`,
      ],
    ]),
  ])("and rejected with %s", (_, text) => {
    for (const got of [whole(text), byByte(text)]) {
      expect(got).toMatchObject({ isClean: undefined, problem: expect.stringContaining("not HTTP") });
    }
  });

  it("and is not over when it is cut", () => {
    for (const text of ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nx"]) {
      expect(whole(text)).toMatchObject({ isClean: undefined, problem: undefined });
    }
  });

  it("with headers up to a limit, however they come", () => {
    const text = (length: number) => `HTTP/1.1 200 OK\r\nx: ${"y".repeat(length)}\r\n\r\n`;
    for (const pieces of [1, 7, 1000]) {
      const split = (length: number) => {
        const bytes = Buffer.from(text(length));
        const size = Math.ceil(bytes.length / pieces);
        return Array.from({ length: pieces }, (__, n) => bytes.subarray(n * size, (n + 1) * size));
      };
      expect(read(split(900), 1000).problem).toBeUndefined();
      expect(read(split(1000), 1000).problem).toContain("too large");
    }
  });

  it("the same, in whatever pieces it comes", () => {
    const body = fc.string({ unit: "binary-ascii", maxLength: 300 });
    const answers = fc.oneof(
      body.map((text) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\nx-a: b\r\n\r\n${text}`),
      fc.array(body.filter((text) => text !== "")).map((chunks) => {
        const framed = chunks.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join("");
        return `HTTP/1.1 500 X\r\ntransfer-encoding: chunked\r\n\r\n${framed}0\r\n\r\n`;
      }),
      body.map((text) => `HTTP/1.1 200 OK\r\n\r\n${text}`),
      // Nearly anything: it must not matter how that comes either.
      fc.tuple(body, body).map(([a, b]) => `HTTP/1.1 200 OK\r\n${a}\r\n\r\n${b}`),
    );
    fc.assert(
      fc.property(answers, fc.array(fc.integer({ min: 1, max: 40 })), (text, sizes) => {
        const bytes = Buffer.from(text, "latin1");
        const pieces: Buffer[] = [];
        let at = 0;
        for (const size of [...sizes, bytes.length]) {
          if (at < bytes.length) pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        const [once, often] = [whole(text), read(pieces)];
        // Whether something follows can only be seen when it has come.
        expect({ ...often, isClean: often.isClean !== undefined }).toEqual({
          ...once,
          isClean: once.isClean !== undefined,
        });
      }),
      { numRuns: 500 },
    );
  });
});
