import * as fc from "fast-check";

/**
 * Answers to a request as destinations might send them: right ones, those that are wrong in one of the ways in which
 * servers are wrong or attackers clever, and any of these with some bytes changed.
 */
export interface GeneratedAnswer {
  bytes: Buffer;
  /** Where it is cut into pieces. */
  cuts: readonly number[];
}

const CRLF = "\r\n";
/** One of those that the text lists. */
const among = (list: string): fc.Arbitrary<string> => fc.constantFrom(...list.split("¦"));
/** An answer is made of some dozens of choices: most are to be right in all of them. */
const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 50, arbitrary: usual }, { weight: 1, arbitrary: other });
const mostlyIs = (usual: string, others: string): fc.Arbitrary<string> => mostly(fc.constant(usual), among(others));

const lineEnd = mostlyIs(CRLF, "\n¦\r¦\r\r\n¦\n\r¦ \r\n");
const version = mostlyIs("HTTP/1.1", "HTTP/1.0¦HTTP/1.2¦HTTP/2.0¦HTTP/0.9¦http/1.1¦HTTP/1.01¦ICY");
const status = fc.oneof(
  { weight: 16, arbitrary: among("200¦201¦202¦404¦500¦503") },
  { weight: 4, arbitrary: among("204¦304¦205¦301¦429") },
  { weight: 1, arbitrary: among("100¦101¦103¦199¦099¦20¦2000¦2OO¦-20¦999") },
);
const reason = mostlyIs(" OK", "¦ ¦  OK¦\tOK¦ O\tK¦ sch\xf6n¦ O\0K¦ O\x7fK¦ \x01");
const statusLine = fc.tuple(version, mostlyIs(" ", "  ¦\t¦"), status, reason).map((parts) => parts.join(""));

const length = (bytes: number): fc.Arbitrary<string> => {
  const padded = `0${bytes}¦+${bytes}¦0x${bytes}¦${bytes} ¦${bytes}\t¦\x0b${bytes}¦${bytes},${bytes}¦${bytes}, ${bytes}`;
  return mostlyIs(String(bytes), `${bytes - 1}¦${bytes + 1}¦${padded}¦${"9".repeat(25)}¦${"1".repeat(17)}¦1e1¦ ¦`);
};
const coding = mostlyIs(
  "chunked",
  "Chunked¦chunked ¦gzip, chunked¦gzip,chunked¦chunked, gzip¦chunked, chunked¦chunked;q=1¦xchunked¦chunkedx¦" +
    "\x0bchunked¦chunked,¦,chunked¦gzip¦identity¦gzip;q=1¦a b¦",
);
const colon = mostlyIs(": ", ":¦:\t¦ : ¦\t:¦:  ¦:\x0b¦:\xa0¦");
const name = (usual: string): fc.Arbitrary<string> =>
  mostlyIs(usual, `${usual.toUpperCase()}¦ ${usual}¦${usual}\0¦${usual}\x80`);
const goodHeader = fc.oneof(
  among(
    "connection: close¦connection: keep-alive¦Connection: Keep-Alive¦connection: upgrade, close¦connection: x, close¦" +
      "connection: closed¦connection: not-close¦connection: keep-alive, close¦keep-alive: timeout=5¦upgrade: h2c¦" +
      "proxy-connection: close¦set-cookie: a=b¦set-cookie: c=d¦date: Tue, 17 Nov 2026 08:00:00 GMT¦x-empty:¦trailer: x¦" +
      "__proto__: x¦x-latin: \xe4\xff¦x-tab:\ta\t¦x-colons: a:b:¦X-Upper: A",
  ),
  fc.stringMatching(/^[!#-'*+\-.^_`|~0-9A-Za-z]{1,8}:[\t\x20-\x7e\x80-\xff]{0,12}$/),
);
const badHeader = fc.oneof(
  among(
    "x-folded: a\r\n b¦x-folded: a\r\n\tb¦x-lf: a\nb: c¦x-cr: a\rb¦x-zero: a\0b¦x-del: a\x7fb¦no colon¦: no name¦" +
      "x y: z¦x(y): z¦\xe4: z¦ leading: x¦x-spaced : a",
  ),
  fc.tuple(fc.string({ maxLength: 8 }), colon, fc.string({ maxLength: 12 })).map((parts) => parts.join("")),
);
const otherHeader = mostly(goodHeader, badHeader);

const content = fc.string({ unit: "binary-ascii", maxLength: 40 });
const chunkSize = (bytes: number): fc.Arbitrary<string> => {
  const size = bytes.toString(16);
  const padded = `0${size}¦00000000${size}¦${size} ¦${size}\t¦ ${size}¦0x${size}¦+${size}¦-${size}`;
  const extended = `${size};a¦${size};a=b¦${size}; a="b\\"c"¦${size} ;a¦${size};¦${size};\0¦${size};a\rb¦${size};a\nb`;
  return mostlyIs(size, `${size.toUpperCase()}¦${padded}¦${extended}¦${(bytes + 1).toString(16)}¦${"f".repeat(18)}¦g¦`);
};
const chunk = content.chain((text) =>
  fc.tuple(chunkSize(text.length), lineEnd, fc.constant(text), lineEnd).map((parts) => parts.join("")),
);
const lastChunk = fc
  .tuple(mostlyIs("0", "00¦0;a¦0 ¦-0¦"), lineEnd, fc.array(otherHeader, { maxLength: 1 }), lineEnd, lineEnd)
  .map(
    ([size, end, trailers, endOfTrailer, last]) =>
      size + end + trailers.map((line) => line + endOfTrailer).join("") + last,
  );
const chunks = fc.tuple(fc.array(chunk, { maxLength: 3 }), lastChunk).map(([all, last]) => all.join("") + last);

/** What says how long the body is, and the body. */
interface Framed {
  lines: readonly string[];
  body: string;
}
const counted: fc.Arbitrary<Framed> = content.chain((body) =>
  fc.tuple(name("content-length"), colon, length(body.length)).map((line) => ({ lines: [line.join("")], body })),
);
const chunked: fc.Arbitrary<Framed> = fc
  .tuple(fc.tuple(name("transfer-encoding"), colon, coding), chunks)
  .map(([line, body]) => ({ lines: [line.join("")], body }));
const endless: fc.Arbitrary<Framed> = content.map((body) => ({ lines: [], body }));
const saidTwice: fc.Arbitrary<Framed> = fc
  .tuple(fc.shuffledSubarray([counted, chunked, counted, chunked], { minLength: 2, maxLength: 2 }))
  .chain(([both]) => fc.tuple(...both))
  .map(([one, other]) => ({ lines: [...(one?.lines ?? []), ...(other?.lines ?? [])], body: one?.body ?? "" }));
const framed = fc.oneof(
  { weight: 8, arbitrary: fc.oneof(counted, chunked, endless) },
  { weight: 1, arbitrary: saidTwice },
);

const answer = fc
  .tuple(statusLine, fc.array(otherHeader, { maxLength: 3 }), framed, fc.nat(3), fc.infiniteStream(lineEnd))
  .map(([first, others, { lines, body }, at, ends]) => {
    const headers = [...others.slice(0, at), ...lines, ...others.slice(at)];
    const withEnd = (line: string): string => line + String(ends.next().value);
    return [first, ...headers, ""].map(withEnd).join("") + body;
  });

const informational = among(
  "HTTP/1.1 100 Continue\r\n\r\n¦HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n¦HTTP/1.0 100\r\n\r\n¦" +
    "HTTP/1.1 100 X\r\ncontent-length: 3\r\n\r\n¦HTTP/1.1 102 X\r\nconnection: close\r\n\r\n",
);
const before = fc.oneof(
  { weight: 6, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: informational },
  { weight: 1, arbitrary: among("\r\n¦\n¦ ¦\0¦\r") },
);
const after = fc.oneof(
  { weight: 6, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: answer },
  { weight: 1, arbitrary: content },
);

const special = among("\0¦\t¦\n¦\v¦\r¦ ¦,¦:¦;¦0¦1¦a¦\x7f¦\x80¦\xa0¦\xff¦\r\n");
type Change = (text: string) => string;
const change: fc.Arbitrary<Change> = fc
  .tuple(among("insert¦replace¦delete¦repeat¦cut"), fc.double({ min: 0, max: 1, noNaN: true }), special)
  .map(([kind, share, inserted]): Change => (text) => {
    const at = Math.floor(share * text.length);
    const [head, tail] = [text.slice(0, at), text.slice(at)];
    if (kind === "insert") return head + inserted + tail;
    if (kind === "replace") return head + inserted + tail.slice(1);
    if (kind === "delete") return head + tail.slice(1);
    if (kind === "repeat") return head + tail.slice(0, 8) + tail;
    return head;
  });
const changes = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(change, { minLength: 1, maxLength: 3 }) },
);

export const generatedAnswer: fc.Arbitrary<GeneratedAnswer> = fc
  .tuple(before, answer, after, changes, fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 4 }))
  .map(([first, middle, last, all, cuts]) => ({
    bytes: Buffer.from(
      all.reduce((text, apply) => apply(text), first + middle + last),
      "latin1",
    ),
    cuts,
  }));

export function cutIntoPieces({ bytes, cuts }: GeneratedAnswer): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const size of [...cuts, bytes.length]) {
    if (at < bytes.length) pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
