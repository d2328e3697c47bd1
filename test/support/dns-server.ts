import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";

/** A DNS server on loopback that says what a test wants it to say, or nothing. */
export interface DnsServer {
  /** As `Resolver.setServers` takes it. */
  address: string;
  /** What was asked, as `A name` and `AAAA name`, in order. */
  asked: readonly string[];
  answerWith(script: DnsScript): void;
  close(): Promise<void>;
}

export type DnsAnswer =
  /** Those of the family that is asked for; a name with none of it has no data. */
  | { addresses: readonly string[]; ttlS?: number }
  | { fails: "SERVFAIL" | "NXDOMAIN" | "REFUSED" }
  /** For ever. */
  | "silent";

export type DnsScript = (name: string, family: 4 | 6) => DnsAnswer;

const CODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const AAAA = 28;

export async function openDnsServer(first: DnsScript = () => ({ fails: "NXDOMAIN" })): Promise<DnsServer> {
  let script = first;
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const { name, family, end } = readQuestion(query);
    asked.push(`${family === 6 ? "AAAA" : "A"} ${name}`);
    const answer = script(name, family);
    if (answer !== "silent") socket.send(writeAnswer(query, end, family, answer), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    answerWith: (next) => void (script = next),
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

function readQuestion(query: Buffer): { name: string; family: 4 | 6; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const family = query.readUInt16BE(at + 1) === AAAA ? 6 : 4;
  return { name: labels.join(".").toLowerCase(), family, end: at + 5 };
}

function writeAnswer(query: Buffer, end: number, family: 4 | 6, answer: Exclude<DnsAnswer, "silent">): Buffer {
  const addresses = "fails" in answer ? [] : answer.addresses.filter((one) => isIPv6(one) === (family === 6));
  const head = Buffer.from(query.subarray(0, end));
  // An answer, recursion available; and no more sections than what follows.
  head.writeUInt16BE(0x8180 | ("fails" in answer ? CODES[answer.fails] : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const ttlS = "fails" in answer ? 0 : (answer.ttlS ?? 300);
  return Buffer.concat([head, ...addresses.map((address) => writeRecord(address, family, ttlS))]);
}

function writeRecord(address: string, family: 4 | 6, ttlS: number): Buffer {
  const data = family === 6 ? ipv6Bytes(address) : Buffer.from(address.split(".").map(Number));
  const record = Buffer.alloc(12);
  // The name stands at byte 12, in the question.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(family === 6 ? AAAA : 1, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(ttlS, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}

function ipv6Bytes(address: string): Buffer {
  const [front = "", back] = address.split("::");
  const words = (text: string) => (text === "" ? [] : text.split(":").map((word) => Number.parseInt(word, 16)));
  const [before, after] = [words(front), words(back ?? "")];
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}
