// The yardstick for a synchronous forward: a plain Node server that hands a request on and answers when it has the
// answer. Nothing is stored, signed or tried again.
import { createServer } from "node:http";
import { Pool } from "undici";
import { answerWith } from "./answering.mjs";

const ANSWER = '{"status":"forwarded"}';

const [target, connections] = process.argv.slice(2);
const pool = new Pool(target, { connections: Number(connections), pipelining: 1 });

async function forward(body, response) {
  const { statusCode, body: answer } = await pool.request({
    method: "POST",
    path: "/hook",
    headers: { "content-type": "application/json" },
    body,
  });
  await answer.dump();
  response.writeHead(statusCode, { "content-type": "application/json", "content-length": ANSWER.length });
  response.end(ANSWER);
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => void forward(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), response));
});

server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, () => {
  answerWith({ port: () => server.address().port });
});
