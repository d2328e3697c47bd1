import { connect, type Socket } from "node:net";

/** A sender that writes whatever bytes it likes and reads HTTP answers one after another. */
export interface RawSocket {
  readonly socket: Socket;
  write(...parts: (string | Uint8Array)[]): void;
  /** What comes next, be it `100 Continue`; rejects when the connection ends before it. */
  next(): Promise<RawAnswer>;
  /** The next final answer. */
  answer(): Promise<RawAnswer>;
  /** Resolves when the other side has closed. */
  closed(): Promise<void>;
  destroy(): void;
}

export interface RawAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
  json: Record<string, unknown>;
}

export async function openRawSocket(port: number): Promise<RawSocket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  let received = Buffer.alloc(0);
  let isClosed = false;
  let wake = () => {};
  // A reset is an end like any other; what was received before it counts.
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  const closed = new Promise<void>((resolve) => {
    for (const event of ["end", "close"]) {
      socket.once(event, () => {
        isClosed = true;
        resolve();
        wake();
      });
    }
  });

  async function next(): Promise<RawAnswer> {
    for (;;) {
      const found = readAnswer(received);
      if (found !== undefined) {
        received = received.subarray(found.bytes);
        return found.answer;
      }
      if (isClosed) throw new Error(`the connection ended after: ${received.toString("latin1").slice(0, 200)}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  return {
    socket,
    write(...parts) {
      for (const part of parts) if (socket.writable) socket.write(part);
    },
    next,
    async answer() {
      for (;;) {
        const answer = await next();
        if (answer.status !== 100) return answer;
      }
    },
    closed: () => closed,
    destroy: () => socket.destroy(),
  };
}

function readAnswer(bytes: Buffer): { answer: RawAnswer; bytes: number } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = Number(statusLine.split(" ")[1]);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const length = Number(headers["content-length"] ?? 0);
  const start = end + 4;
  if (bytes.length < start + length) return undefined;
  const text = bytes.toString("utf8", start, start + length);
  const isJson = /json/.test(headers["content-type"] ?? "");
  const json = isJson ? (JSON.parse(text) as Record<string, unknown>) : {};
  return { answer: { status, headers, text, json }, bytes: start + length };
}

/** The text of a request with a body of known length. */
export function rawRequest(path: string, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ host: "gateway.test", "content-length": Buffer.byteLength(body), ...headers });
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
}
