import { CommandFailure } from "../failure.ts";
import { percentileOf } from "../percentile.ts";
import { openLoadConnection, writeRequest } from "./load-connection.ts";

export interface Flooded {
  startedAt: number;
  accepted: number;
  /** Answers that were not 2xx; these requests are sent again after a moment, as senders do. */
  refused: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface FloodOptions {
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
