import { connect, type Socket } from "node:net";

/**
 * The one load generator, for `bench`, `selftest`, the benchmarks of this repository and its tests: prepared bytes over
 * raw sockets, so that it uses as little as possible of the cores that it shares with the gateway. Only for servers of
 * this machine that were started for it.
 */

/** Head and body of an answer. The bytes are valid until the next one comes. */
type OnAnswer = (status: number, bytes: Buffer, bodyAt: number) => void;

const MAX_ANSWER_BYTES = 64 * 1024;
const RESEND_MS = 100;

/** `headers`: each with its line end. */
export function writeRequest(port: number, path: string, body: Uint8Array, headers = ""): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/**
 * Sends one request at a time. When the server closes the connection after an answer, the next request opens another.
 * `onLost`: the connection is closed without the answer to a request, or cannot be opened again.
 */
export async function openLoadConnection(port: number, onLost: () => void) {
  let socket: Socket | undefined;
  let answered: OnAnswer | undefined;
  let isClosed = false;

  function lose(): void {
    if (isClosed) return;
    isClosed = true;
    socket?.destroy();
    onLost();
  }

  const take = (bytes: Buffer, bodyAt: number, isLast: boolean): void => {
    const notify = answered;
    answered = undefined;
    if (isLast) drop();
    notify?.(Number(bytes.toString("latin1", 9, 12)), bytes, bodyAt);
  };

  function drop(): void {
    socket?.destroy();
    socket = undefined;
  }

  const open = () =>
    openSocket(port, take, (closed) => {
      if (closed !== socket) return;
      if (answered === undefined) drop();
      else lose();
    });

  async function sendOverAnother(request: Buffer): Promise<void> {
    socket = await open();
    if (isClosed) socket.destroy();
    else socket.write(request);
  }

  socket = await open();
  return {
    send(request: Buffer, onAnswer: OnAnswer): void {
      answered = onAnswer;
      if (socket === undefined) sendOverAnother(request).catch(lose);
      else socket.write(request);
    },
    close(): void {
      isClosed = true;
      socket?.destroy();
    },
  };
}

/**
 * Each connection sends its next request when it has the answer to its last: for a time, or so many in all. What was
 * rejected is sent again after a moment, as senders do.
 */
export function flood<Connection>(
  connections: readonly Connection[],
  { durationMs = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY },
  send: (connection: Connection, onAnswer: (isAccepted: boolean) => void) => void,
): Promise<void> {
  const endsAt = performance.now() + durationMs;
  let left = count;
  let sending = connections.length;
  return new Promise((resolve) => {
    for (const connection of connections) {
      const next = (): void => {
        if (left > 0 && performance.now() < endsAt) {
          left -= 1;
          return send(connection, onAnswer);
        }
        sending -= 1;
        if (sending === 0) resolve();
      };
      const onAnswer = (isAccepted: boolean): void => {
        if (isAccepted) return next();
        left += 1;
        setTimeout(next, RESEND_MS);
      };
      next();
    }
  });
}

function openSocket(
  port: number,
  take: (bytes: Buffer, bodyAt: number, isLast: boolean) => void,
  onClose: (socket: Socket) => void,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const buffer = Buffer.allocUnsafe(MAX_ANSWER_BYTES);
    let rest: Buffer | undefined;
    const callback = (length: number): boolean => {
      const chunk = buffer.subarray(0, length);
      const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
      const headEnd = bytes.indexOf("\r\n\r\n");
      const head = headEnd < 0 ? "" : bytes.toString("latin1", 0, headEnd);
      const end = headEnd + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (headEnd < 0 || bytes.length < end) {
        // The socket reuses its buffer for the next read.
        rest = bytes === chunk ? Buffer.from(chunk) : bytes;
        return true;
      }
      if (bytes.length > end) throw new Error("More came than one answer.");
      rest = undefined;
      take(bytes, headEnd + 4, /\r\nconnection: *close/i.test(head));
      return true;
    };
    const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer, callback } });
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
    socket.once("close", () => onClose(socket));
  });
}
