import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The destination of a selftest: records what arrived, by event. */
export interface RecordingSink {
  url: string;
  /** How often each event arrived, and the hash of its bytes, by event id. */
  readonly arrivals: ReadonlyMap<string, { hash: string; count: number }>;
  close(): Promise<void>;
}

export const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("base64url");

export async function openRecordingSink(): Promise<RecordingSink> {
  const arrivals = new Map<string, { hash: string; count: number }>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const id = String(request.headers["webhook-id"]);
      arrivals.set(id, { hash: hashOf(Buffer.concat(chunks)), count: (arrivals.get(id)?.count ?? 0) + 1 });
      response.writeHead(200, { "content-length": 0 }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
