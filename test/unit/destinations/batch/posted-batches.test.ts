import { describe, expect, it } from "vitest";
import { createPostedBatches, type SentRow } from "../../../../src/destinations/batch/posted-batches.ts";
import { prepareBatch } from "../../../../src/destinations/batch/settings.ts";
import type { Attempt } from "../../../../src/destinations/sender.ts";
import type { HttpClient } from "../../../../src/destinations/wire/http.ts";
import type { Subscription } from "../../../../src/model/subscription.ts";
import { senderServices } from "../../../support/sender-services.ts";
import { NOON } from "../../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../../support/virtual-clock.ts";

const TIMEOUT_MS = 1000;
const ROWS = 64;

/** A destination that takes its time over each request, and refuses those with a bad row. */
function openSlow(answersAfterMs: number, isBad: (row: string) => boolean) {
  const time = createVirtualTime(NOON);
  const clock = createVirtualClock(time);
  const taken: string[] = [];
  const client: HttpClient = {
    request({ body }, done) {
      const rows = Buffer.from(body).toString("utf8").trimEnd().split("\n");
      clock.setTimer(clock.now() + answersAfterMs, () => {
        const status = rows.some(isBad) ? 400 : 200;
        if (status === 200) taken.push(...rows);
        done({ kind: "response", status, headers: {}, body: Buffer.alloc(0), address: "", url: "" });
      });
    },
    close: () => Promise.resolve(),
  };
  const send = createPostedBatches(senderServices({ clock, client }));
  const { destination } = prepareBatch({ url: "http://far.example/", max_rows: ROWS });
  const secrets = [`whsec_${Buffer.alloc(32, 7).toString("base64")}`];
  const subscription = { tenantId: "default", timeoutMs: TIMEOUT_MS, destination, secrets } as unknown as Subscription;
  const attempt = { subscription, generation: 1, event: {} } as unknown as Attempt;

  async function sendRows(rows: readonly string[]): Promise<string[]> {
    const sent: SentRow[] = rows.map((row) => ({ attempt, row: Buffer.from(`${row}\n`) }));
    const ended = new Promise<string[]>((resolve) => {
      send(sent, (results) => resolve(results.map(({ outcome }) => outcome.kind)));
    });
    await moveClock(time, TIMEOUT_MS + answersAfterMs, async () => {
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    });
    return ended;
  }
  return { sendRows, taken };
}

describe("a rejected batch whose time is too short to be split", () => {
  it("goes on with smaller parts at the next try, until only the bad row is left", async () => {
    const { sendRows, taken } = openSlow(400, (row) => row === "0");
    let left = Array.from({ length: ROWS }, (_, i) => String(i));
    const refused: string[] = [];
    for (let attempt = 0; attempt < 12 && left.length > 0; attempt++) {
      const kinds = await sendRows(left);
      refused.push(...left.filter((_, i) => kinds[i] === "refused"));
      left = left.filter((_, i) => kinds[i] === "failed");
    }
    expect(refused).toEqual(["0"]);
    expect(left).toEqual([]);
    expect(taken).toEqual(Array.from({ length: ROWS - 1 }, (_, i) => String(i + 1)));
  });

  it("goes whole where none is bad", async () => {
    const { sendRows, taken } = openSlow(400, () => false);
    expect(new Set(await sendRows(["1", "2", "3"]))).toEqual(new Set(["delivered"]));
    expect(taken).toEqual(["1", "2", "3"]);
  });
});
