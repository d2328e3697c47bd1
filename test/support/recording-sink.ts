import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Arrival } from "./accounting.ts";

/** A destination that keeps a record of every attempt that reached it complete. The path names the subscription. */
export interface RecordingSink {
  urlOf(subscription: string): string;
  readonly arrivals: readonly Arrival[];
  /** What is answered from now on, to each by the number of those before it; 200 at first. */
  answerWith(status: number | ((before: number) => number)): void;
  /** Resolves when this many attempts have come. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function openRecordingSink(): Promise<RecordingSink> {
  const arrivals: Arrival[] = [];
  const waiting = new Set<() => void>();
  let statusOf = (_before: number) => 200;

  const server = createServer((request, response) => {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    urlOf: (subscription) => `http://127.0.0.1:${port}/${subscription}`,
    arrivals,
    answerWith(next) {
      statusOf = typeof next === "number" ? () => next : next;
    },
    received: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (arrivals.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
