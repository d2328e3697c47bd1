import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AnswerReader } from "../../../src/destinations/wire/answer-reader.ts";
import { cutIntoPieces, generatedAnswer, type GeneratedAnswer } from "../../support/generated-answers.ts";
import { sized } from "../../support/proof-size.ts";
import { readWithNode, type AnswerRead } from "../../support/read-with-node.ts";

interface Rule {
  name: string;
  /** What our reader says of an answer that breaks it. */
  problem: string;
  /** Whether an answer breaks it. */
  isBroken: (text: string) => boolean;
  /** Node 20 accepts it; later ones refuse some, too. */
  example: string;
}

const FIRST_LINE = "its first line is not a status line";
const CODING = "its transfer encoding is invalid";
const chunkedAnswer = (coding: string) => `HTTP/1.1 200 OK\r\ntransfer-encoding: ${coding}\r\n\r\n0\r\n\r\n`;

function codingOf(text: string): string {
  const values = [...text.matchAll(/transfer-encoding:[\t ]*(.*?)[\t ]*\r\n/gis)].map(([, value]) => value);
  return values.join(", ");
}

/** Where our reader is stricter than Node's. Another answer that Node accepts and ours refuses is a fault. */
const STRICTER: readonly Rule[] = [
  {
    name: "nothing stands before the first line",
    problem: FIRST_LINE,
    isBroken: (text) => /(?:^|\r\n\r\n)[\r\n]/.test(text),
    example: "\r\nHTTP/1.1 200 OK\r\n\r\n",
  },
  {
    name: "the version is 1.0 or 1.1",
    problem: FIRST_LINE,
    isBroken: (text) => /(?:^|\r\n\r\n)HTTP\/(?!1\.[01] )/.test(text),
    example: "HTTP/2.0 200 OK\r\n\r\n",
  },
  {
    name: "a status is 100 or more",
    problem: FIRST_LINE,
    isBroken: (text) => /HTTP\/1\.[01] 0\d\d/.test(text),
    example: "HTTP/1.1 099 OK\r\n\r\n",
  },
  {
    name: "the words after a status are text",
    problem: FIRST_LINE,
    isBroken: (text) => /HTTP\/1\.[01] \d\d\d[^\n]*?(?:[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n))/.test(text),
    example: "HTTP/1.1 200 O\0K\r\n\r\n",
  },
  {
    name: "the protocol stays the same",
    problem: "it switches to another protocol",
    isBroken: (text) => /HTTP\/1\.[01] 101/.test(text),
    example: "HTTP/1.1 101 Switching\r\n\r\n",
  },
  {
    name: "only one header says how long a body is",
    problem: "it has two lengths",
    isBroken: (text) => /transfer-encoding:/i.test(text) && /content-length:/i.test(text),
    example: "HTTP/1.1 200 OK\r\ntransfer-encoding:\r\ncontent-length: 0\r\n\r\n",
  },
  {
    name: "what is chunked is nothing else, and once",
    problem: CODING,
    isBroken: (text) => /chunked/i.test(codingOf(text)) && !/^chunked$/i.test(codingOf(text)),
    example: chunkedAnswer("gzip, chunked"),
  },
  {
    name: "a coding is a list of names",
    problem: CODING,
    isBroken: (text) => !/^[\w-]+(?:[\t ]*,[\t ]*[\w-]+)*$/.test(codingOf(text)),
    example: chunkedAnswer("a b"),
  },
  {
    name: "a length has at most 15 digits",
    problem: "its length is not a number",
    isBroken: (text) => /content-length:\s*\d{16}/i.test(text),
    example: `HTTP/1.1 304 OK\r\ncontent-length: ${"1".repeat(17)}\r\n\r\n`,
  },
  {
    name: "the size of a chunk has at most 8 digits",
    problem: "the size of a chunk is not a number",
    isBroken: (text) => /\r\n[0-9a-f]{9}/i.test(text),
    example: `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"0".repeat(9)}\r\n\r\n`,
  },
];

/** Where ours takes what Node does not: nobody can understand it in two ways. */
const WIDER: readonly { name: string; holds: (text: string) => boolean }[] = [
  // RFC 9110 §5.6.3: a tab may stand wherever a space may.
  { name: "a tab after a length", holds: (text) => /content-length:[^\r]*\t/i.test(text) },
  // RFC 9110 §7.6.1: only Connection speaks of the connection.
  // RFC 9112 §7.1.1 has spaces around extensions, and old servers have them after a size.
  { name: "spaces around what follows a size", holds: (text) => /\r\n[0-9a-f]+(?:[\t ]|;.*[\t \\])/i.test(text) },
  { name: "what is said to proxies", holds: (text) => /proxy-connection:/i.test(text) },
];

function readWithOurs(pieces: readonly Buffer[]): AnswerRead {
  const got: AnswerRead = { verdict: "cut", status: 0, headers: {}, body: "", isReusable: false, problem: "" };
  const reader = new AnswerReader(16_384);
  reader.expect({
    takeHead: ({ status, headers }) => Object.assign(got, { status, headers }),
    takeBody: (bytes) => void (got.body += Buffer.from(bytes).toString("latin1")),
    takeEnd: (isReusable) => Object.assign(got, { verdict: "accepted", isReusable }),
  });
  for (const piece of pieces) {
    // What comes when nobody waits for it ends the connection.
    if (got.verdict === "accepted") return { ...got, isReusable: false };
    const reading = reader.read(piece);
    if (reading !== "going on") return { ...got, verdict: "refused", problem: reading.problem };
  }
  reader.end();
  return got;
}

/** What is wrong between the two. */
function findFault(text: string, node: AnswerRead, ours: AnswerRead): string | undefined {
  const isWider = WIDER.some(({ holds }) => holds(text));
  if (ours.verdict !== "accepted") {
    if (node.verdict !== "accepted") return undefined;
    // What is wrong with a head is said when it has ended, and one that Node ends by other line ends has not.
    const isSaid = (problem: string) =>
      ours.verdict === "cut" ? problem === FIRST_LINE : ours.problem.endsWith(problem);
    const isRule = STRICTER.some(({ problem, isBroken }) => isSaid(problem) && isBroken(text));
    return isRule ? undefined : `Node accepts what is ${ours.verdict} here: ${ours.problem}`;
  }
  if (node.verdict !== "accepted") return isWider ? undefined : `Node has it ${node.verdict}: ${node.problem}`;
  const contentOf = ({ status, headers, body }: AnswerRead) => JSON.stringify([status, headers, body]);
  if (contentOf(node) !== contentOf(ours)) return `Node reads ${contentOf(node)}, and ours ${contentOf(ours)}`;
  return ours.isReusable && !node.isReusable && !isWider ? "Node would not use the connection again" : undefined;
}

const RUNS = sized({ short: 6000, middle: 50_000, long: 1_000_000 });
/** Always the same where nobody waits for new findings. */
const SEED = sized({ short: { seed: 9112 }, middle: {}, long: {} });

function propertyOf(change: (bytes: Buffer) => Buffer, count: (verdict: AnswerRead["verdict"]) => void) {
  return fc.asyncProperty(generatedAnswer, async (generated: GeneratedAnswer) => {
    const text = generated.bytes.toString("latin1");
    const node = await readWithNode(cutIntoPieces(generated));
    const ours = readWithOurs(cutIntoPieces({ ...generated, bytes: change(generated.bytes) }));
    count(node.verdict);
    const fault = findFault(text, node, ours);
    if (fault !== undefined) throw new Error(`${JSON.stringify(text)}: ${fault}`);
  });
}

describe("beside the parser of Node itself, our reader of answers", () => {
  it("accepts the same with the same content, rejects the same, or is stricter by a rule", async () => {
    const verdicts = { accepted: 0, refused: 0, cut: 0 };
    await fc.assert(
      propertyOf(
        (bytes) => bytes,
        (verdict) => verdicts[verdict]++,
      ),
      { numRuns: RUNS, ...SEED },
    );
    // Else it would have compared nothing.
    for (const count of Object.values(verdicts)) expect(count).toBeGreaterThan(RUNS / 20);
  });

  it.each<[string, (text: string) => string]>([
    ["takes a line feed for a whole line end", (text) => text.replaceAll(/\r?\n/g, "\r\n")],
    ["takes folded headers", (text) => text.replaceAll(/\r\n[\t ]+/g, " ")],
    ["does not read trailers", (text) => text.replaceAll(/\r\n0\r\n[\s\S]*?\r\n\r\n/g, "\r\n0\r\n\r\n")],
    [
      "believes the second of two lengths",
      (text) => text.replace(/content-length:.*\r\n(?=[\s\S]*content-length:)/i, ""),
    ],
    ["keeps connections that are to be closed", (text) => text.replaceAll(/connection: close\r\n/gi, "")],
  ])("is compared so that one which %s is found out (control)", async (_, change) => {
    const property = propertyOf(
      (bytes) => Buffer.from(change(bytes.toString("latin1")), "latin1"),
      () => undefined,
    );
    const { failed } = await fc.check(property, { numRuns: RUNS, endOnFailure: true, ...SEED });
    expect(failed).toBe(true);
  });

  it.each(STRICTER.map((rule) => [rule.name, rule] as const))("is stricter: %s", async (_, rule) => {
    const pieces = [Buffer.from(rule.example, "latin1")];
    const { verdict } = await readWithNode(pieces);
    const expected = process.versions.node.startsWith("20.") ? ["accepted"] : ["accepted", "refused"];
    expect(expected).toContain(verdict);
    expect(readWithOurs(pieces)).toMatchObject({ verdict: "refused", problem: expect.stringMatching(rule.problem) });
    expect(rule.isBroken(rule.example)).toBe(true);
  });
});
