// The yardstick for end to end: a plain Node server that answers 202 and forwards from memory. Nothing is stored,
// signed, recorded or tried again.
import { createServer } from "node:http";
import { Pool } from "undici";
import { answerWith, createCount } from "./answering.mjs";

const ANSWER = '{"status":"queued"}';

const [target, connections] = process.argv.slice(2);
const pool = new Pool(target, { connections: Number(connections), pipelining: 1 });
const forwarded = createCount();

async function forward(body) {
  const response = await pool.request({
    method: "POST",
    path: "/hook",
    headers: { "content-type": "application/json" },
    body,
  });
  await response.body.dump();
  forwarded.add();
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    response.writeHead(202, { "content-type": "application/json", "content-length": ANSWER.length });
    response.end(ANSWER);
    void forward(body);
  });
});

server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, () => {
  answerWith({
    port: () => server.address().port,
    reset: () => forwarded.reset(),
    reach: (count) => forwarded.reach(count),
  });
});
