import { connect, type Socket } from "node:net";
import { CommandFailure } from "../failure.ts";
import { percentileOf } from "../fsync-time.ts";

export interface Flooded {
  startedAt: number;
  accepted: number;
  /** Answers that were not 2xx; these requests are sent again after a moment, as senders do. */
  refused: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

interface FloodOptions {
  port: number;
  path: string;
  body: Buffer;
  connections: number;
  durationMs: number;
}

const RESEND_MS = 100;

/** Each connection sends its next request when it has the answer to the last one. */
export async function flood({ port, path, body, connections, durationMs }: FloodOptions): Promise<Flooded> {
  const request = writeRequest(port, path, body);
  const latencies: number[] = [];
  let refused = 0;
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  const onLost = () => fail(new CommandFailure(`The server on port ${port} closed a connection under load.`));
  const opened = await Promise.all(Array.from({ length: connections }, () => openLoadConnection({ port, onLost })));
  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  const all = opened.map(
    (connection) =>
      new Promise<void>((done) => {
        const send = (): void => {
          const sentAt = performance.now();
          if (sentAt >= endsAt) return done();
          connection.send(request, (status) => {
            if (status >= 200 && status < 300) {
              latencies.push(performance.now() - sentAt);
              return send();
            }
            refused += 1;
            setTimeout(send, RESEND_MS);
          });
        };
        send();
      }),
  );
  try {
    await Promise.race([Promise.all(all), failed]);
  } finally {
    for (const connection of opened) connection.close();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    startedAt,
    accepted: latencies.length,
    refused,
    perSecond: latencies.length / seconds,
    p50Ms: percentileOf(latencies, 0.5),
    p99Ms: percentileOf(latencies, 0.99),
  };
}

/**
 * A connection for load tests: prepared bytes over a raw socket, so that it uses as little as possible of the cores
 * that it shares with the gateway. One request at a time. Only for a gateway that this command started itself.
 */
interface LoadConnection {
  /** `request`: head and body together. */
  send(request: Buffer, onAnswer: (status: number, body: Buffer) => void): void;
  close(): void;
}

interface LoadConnectionOptions {
  port: number;
  /** The other side has closed the connection: a request that is under way gets no answer. */
  onLost: () => void;
}

const MAX_ANSWER_BYTES = 64 * 1024;

export function writeRequest(port: number, path: string, body: Buffer): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** When a server closes the connection after an answer, a new socket replaces the old one. */
export async function openLoadConnection({ port, onLost }: LoadConnectionOptions): Promise<LoadConnection> {
  let socket: Socket;
  let answered: ((status: number, body: Buffer) => void) | undefined;
  let isClosed = false;

  function lose(): void {
    if (isClosed) return;
    isClosed = true;
    socket.destroy();
    onLost();
  }

  function take({ status, body, isLast }: Answer): void {
    const notify = answered;
    answered = undefined;
    if (!isLast) return notify?.(status, body);
    socket.destroy();
    openSocket(port, take, lose).then((opened) => {
      socket = opened;
      if (isClosed) socket.destroy();
      else notify?.(status, body);
    }, lose);
  }

  socket = await openSocket(port, take, lose);
  return {
    send(request, onAnswer) {
      answered = onAnswer;
      socket.write(request);
    },
    close() {
      isClosed = true;
      socket.destroy();
    },
  };
}

interface Answer {
  status: number;
  body: Buffer;
  isLast: boolean;
}

function openSocket(port: number, take: (answer: Answer) => void, lose: () => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const buffer = Buffer.allocUnsafe(MAX_ANSWER_BYTES);
    let rest: Buffer | undefined;
    let isDone = false;
    const callback = (length: number): boolean => {
      const chunk = buffer.subarray(0, length);
      const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
      const answer = parseAnswer(bytes);
      // The socket reuses its buffer for the next read.
      rest = answer === undefined ? Buffer.from(bytes) : undefined;
      if (answer === undefined) return true;
      isDone = answer.isLast;
      take(answer);
      return true;
    };
    const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer, callback } });
    socket.once("connect", () => resolve(socket));
    socket.once("error", (error) => {
      reject(error);
      if (!isDone) lose();
    });
    socket.once("close", () => {
      if (!isDone) lose();
    });
  });
}

/** Undefined until the answer is complete. */
function parseAnswer(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? "0";
  const end = headEnd + 4 + Number(length);
  if (bytes.length < end) return undefined;
  const isLast = /\r\nconnection: *close/i.test(head);
  return { status: Number(head.slice(9, 12)), body: bytes.subarray(headEnd + 4, end), isLast };
}
