// Where deliveries end: answers 200 over raw sockets, or 503 to every n-th request, counts what it took, and measures how
// old that is.
import { createLeanSink } from "../../dist/cli/trial/sink.js";
import { describeLatencies } from "../statistics.mjs";
import { answerWith, createCount, nowUs } from "./answering.mjs";
import { readStamp } from "./stamp.mjs";

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok");

const REFUSAL = Buffer.from("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");

const count = createCount();
let agesUs;
let failEvery = 0;
let asked = 0;

const server = createLeanSink((request, bodyAt) => {
  if (failEvery > 0 && ++asked % failEvery === 0) return REFUSAL;
  if (agesUs !== undefined) agesUs.push(nowUs() - readStamp(request, bodyAt));
  count.add();
  return ANSWER;
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
