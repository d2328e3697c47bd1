// The yardstick for fan-out: the same body sent with undici, over and over, by as many loops as there are connections.
import { Pool } from "undici";
import { answerWith } from "./answering.mjs";
import { createBody } from "./stamp.mjs";

const [target, connections, bodyBytes] = process.argv.slice(2);
const pool = new Pool(target, { connections: Number(connections), pipelining: 1 });
const body = createBody(Number(bodyBytes));

answerWith({
  async post(count) {
    const startedAt = performance.now();
    let left = count;
    const loop = async () => {
      while (left > 0) {
        left -= 1;
        const response = await pool.request({
          method: "POST",
          path: "/hook",
          headers: { "content-type": "application/json" },
          body,
        });
        await response.body.dump();
      }
    };
    await Promise.all(Array.from({ length: Number(connections) }, loop));
    const seconds = (performance.now() - startedAt) / 1000;
    return { seconds, perSecond: count / seconds };
  },
});
