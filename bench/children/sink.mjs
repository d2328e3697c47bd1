// Where deliveries end: answers 200 over raw sockets, or 503 to every n-th request, counts what it took, and measures how
// old that is.
import { createServer } from "node:net";
import { describeLatencies } from "../statistics.mjs";
import { answerWith, createCount, nowUs } from "./answering.mjs";
import { readStamp } from "./stamp.mjs";

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok");

const REFUSAL = Buffer.from("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");

const count = createCount();
let agesUs;
let failEvery = 0;
let asked = 0;

/** The answer to it. */
function take(bytes, bodyAt) {
  if (failEvery > 0 && ++asked % failEvery === 0) return REFUSAL;
  if (agesUs !== undefined) agesUs.push(nowUs() - readStamp(bytes, bodyAt));
  count.add();
  return ANSWER;
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest;
  socket.on("data", (chunk) => {
    let bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    rest = undefined;
    for (;;) {
      const headEnd = bytes.indexOf("\r\n\r\n");
      if (headEnd < 0) break;
      const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.latin1Slice(0, headEnd));
      const end = headEnd + 4 + Number(length?.[1] ?? 0);
      if (bytes.length < end) break;
      socket.write(take(bytes, headEnd + 4));
      if (bytes.length === end) return;
      bytes = bytes.subarray(end);
    }
    rest = bytes;
  });
  socket.on("error", () => socket.destroy());
});

server.listen(0, "127.0.0.1", () => {
  answerWith({
    port: () => server.address().port,
    reset({ measureAge = false, failEvery: every = 0 } = {}) {
      count.reset();
      failEvery = every;
      agesUs = measureAge ? [] : undefined;
    },
    count: () => count.value,
    reach: (target) => count.reach(target),
    ages: () => describeLatencies(agesUs),
  });
});
