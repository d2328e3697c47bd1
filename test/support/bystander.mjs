// Throws away whatever it gets and answers 400: what a machine feels of senders that trouble somebody else.
// usage: node bystander.mjs
import { createServer } from "node:http";

const server = createServer(
  { headersTimeout: 3000, requestTimeout: 5000, connectionsCheckingInterval: 100 },
  (request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(400);
      response.end();
    });
  },
);
server.listen(0, "127.0.0.1", () => process.stdout.write(`port ${server.address().port}\n`));
