// The servers of a bench, in a thread of their own: a bare Node server for comparison, and a sink for deliveries.
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";

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

/** Uses raw sockets, because it shares the cores with the gateway. */
const sink = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer | undefined;
  socket.on("data", (chunk) => {
    let bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const headEnd = bytes.indexOf("\r\n\r\n");
      const length = headEnd < 0 ? null : /\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, headEnd));
      const end = headEnd + 4 + Number(length?.[1] ?? 0);
      if (headEnd < 0 || bytes.length < end) break;
      taken += 1;
      lastAt = performance.timeOrigin + performance.now();
      socket.write(OK);
      bytes = bytes.subarray(end);
    }
    rest = bytes.length === 0 ? undefined : bytes;
  });
  socket.on("error", () => socket.destroy());
});

const listen = (server: typeof bare | typeof sink) =>
  new Promise<number>((resolve) => {
    server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, () => resolve((server.address() as AddressInfo).port));
  });

const ports = { barePort: await listen(bare), sinkPort: await listen(sink) };
parentPort?.on("message", () => parentPort?.postMessage({ taken, lastAt }));
parentPort?.postMessage(ports);
