import { createHash } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";

/** The destinations of trials, benchmarks and tests: one that is lean, and one that records. */

/** Over raw sockets, because it shares the cores with the gateway. `answer` gets a request with the place of its body. */
export function createLeanSink(answer: (request: Buffer, bodyAt: number) => Buffer): Server {
  return createServer({ noDelay: true }, (socket) => {
    let rest: Buffer | undefined;
    socket.on("data", (chunk) => {
      let bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
      rest = undefined;
      for (;;) {
        const headEnd = bytes.indexOf("\r\n\r\n");
        if (headEnd < 0) break;
        const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, headEnd));
        const end = headEnd + 4 + Number(length?.[1] ?? 0);
        if (bytes.length < end) break;
        socket.write(answer(bytes, headEnd + 4));
        if (bytes.length === end) return;
        bytes = bytes.subarray(end);
      }
      rest = bytes;
    });
    socket.on("error", () => socket.destroy());
  });
}

/** One attempt that reached the sink complete, in the order of their coming. */
interface RecordedArrival {
  eventId: string;
  /** The path names the subscription. */
  subscription: string;
  attempt: number;
  hash: string;
  accepted: boolean;
}

export type RecordingSink = Awaited<ReturnType<typeof openRecordingSink>>;

export const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("base64url");

export async function openRecordingSink() {
  const arrivals: RecordedArrival[] = [];
  const waiting = new Set<() => void>();
  let statusOf = (_before: number) => 200;

  const server = createHttpServer((request, response) => {
    const hash = createHash("sha256");
    request.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => hash.update(chunk));
    request.on("end", () => {
      const status = statusOf(arrivals.length);
      arrivals.push({
        eventId: String(request.headers["webhook-id"]),
        subscription: (request.url ?? "/").slice(1),
        attempt: Number(request.headers["x-webhook-attempt"]),
        hash: hash.digest("base64url"),
        accepted: status < 300,
      });
      response.writeHead(status, { "content-length": "0" }).end();
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, resolve));
  const { port } = server.address() as AddressInfo;

  return {
    urlOf: (subscription: string) => `http://127.0.0.1:${port}/${subscription}`,
    arrivals: arrivals as readonly RecordedArrival[],
    /** What is answered from now on, to each by the number of those before it; 200 at first. */
    answerWith(next: number | ((before: number) => number)): void {
      statusOf = typeof next === "number" ? () => next : next;
    },
    received: (count: number) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (arrivals.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
