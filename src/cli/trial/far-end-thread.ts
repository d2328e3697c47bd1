// The servers of a bench, in a thread of their own: a bare Node server for comparison, and a sink for deliveries.
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";
import { createLeanSink } from "./sink.ts";

const OK = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
let taken = 0;
let lastAt = 0;

/** The yardstick: reads the body and answers 202, without doing anything else. */
const bare = createHttpServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const answer = `{"status":"queued","size":${Buffer.concat(chunks).length}}`;
    response.writeHead(202, { "content-type": "application/json", "content-length": answer.length }).end(answer);
  });
});

const sink = createLeanSink(() => {
  taken += 1;
  lastAt = performance.timeOrigin + performance.now();
  return OK;
});

const listen = (server: typeof bare | typeof sink) =>
  new Promise<number>((resolve) => {
    server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, () => resolve((server.address() as AddressInfo).port));
  });

const ports = { barePort: await listen(bare), sinkPort: await listen(sink) };
parentPort?.on("message", () => parentPort?.postMessage({ taken, lastAt }));
parentPort?.postMessage(ports);
