// The yardstick for receiving: a plain Node server that reads a body and answers 202.
import { createServer } from "node:http";
import { answerWith } from "./answering.mjs";

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const answer = `{"status":"queued","size":${body.length}}`;
    response.writeHead(202, { "content-type": "application/json", "content-length": answer.length });
    response.end(answer);
  });
});

server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, () => {
  answerWith({ port: () => server.address().port });
});
