import { describe, expect, it } from "vitest";
import { openBatchSender } from "../../../../src/destinations/batch/sender.ts";
import type { RotatingFile } from "../../../../src/destinations/batch/rotating-file.ts";
import type { Attempt } from "../../../../src/destinations/sender.ts";
import { senderServices } from "../../../support/sender-services.ts";
import { NOON } from "../../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../../support/virtual-clock.ts";

function attemptOf(body: string): Attempt {
  const destination = { rows: "payload", to: { path: "/srv/a", rotateBytes: 1, rotateMs: 1 } };
  const event = { origin: "publish", body: Buffer.from(body) };
  return { event, subscription: { timeoutMs: 1000, place: "file:/srv/a", destination } } as unknown as Attempt;
}

/** Rows that are sent to a file which does what it is told. */
function openBatches(append: RotatingFile["append"]) {
  const time = createVirtualTime(NOON);
  const sender = openBatchSender(senderServices({ clock: createVirtualClock(time), batchDir: "/srv" }), () => ({
    append,
    close: () => Promise.resolve(),
  }));
  const outcomes = new Promise<string[]>((resolve) => {
    sender.send(["1", "2"].map(attemptOf), (results) =>
      resolve(results.map(({ outcome: { kind, result, error } }) => [kind, result, error].join(" ").trim())),
    );
  });
  return { outcomes, pass: (ms: number) => moveClock(time, ms, () => Promise.resolve()) };
}

describe("a batch for a file", () => {
  it("is delivered when it is on disk, as one write", async () => {
    const written: string[] = [];
    const { outcomes } = openBatches(async (lines) => void written.push(Buffer.from(lines).toString()));
    expect(await outcomes).toEqual(["delivered success", "delivered success"]);
    expect(written).toEqual(["1\n2\n"]);
  });

  it("is tried again when the disk does not accept it", async () => {
    const { outcomes } = openBatches(() => Promise.reject(new Error("ENOSPC: no space left on device")));
    const failed = "failed failed it could not be written: ENOSPC: no space left on device";
    expect(await outcomes).toEqual([failed, failed]);
  });

  it("is given up at the deadline", async () => {
    const { outcomes, pass } = openBatches(() => new Promise(() => undefined));
    await pass(1001);
    expect(await outcomes).toEqual(Array(2).fill("failed timeout it was not on disk within 1000 ms"));
  });

  it("waits where the gateway has no folder for batches any more", async () => {
    const time = createVirtualTime(NOON);
    const sender = openBatchSender(senderServices({ clock: createVirtualClock(time) }));
    const [result] = await new Promise<readonly { outcome: object }[]>((resolve) =>
      sender.send([attemptOf("1")], resolve),
    );
    expect(result?.outcome).toMatchObject({
      kind: "failed",
      says: "nothing",
      error: expect.stringContaining("POSTHORN_BATCH_DIR"),
    });
  });
});
