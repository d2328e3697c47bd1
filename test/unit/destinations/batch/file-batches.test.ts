import { describe, expect, it } from "vitest";
import { createFileBatches } from "../../../../src/destinations/batch/file-batches.ts";
import type { RotatingFile } from "../../../../src/destinations/batch/rotating-file.ts";
import type { Attempt } from "../../../../src/destinations/sender.ts";
import { NOON } from "../../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../../support/virtual-clock.ts";

/** Rows that are sent to a file which does what it is told. */
function openBatches(append: RotatingFile["append"]) {
  const time = createVirtualTime(NOON);
  const batches = createFileBatches({ clock: createVirtualClock(time), batchDir: "/srv" }, () => ({
    append,
    close: () => Promise.resolve(),
  }));
  const subscription = { timeoutMs: 1000, destination: { to: { path: "/srv/a", rotateBytes: 1, rotateMs: 1 } } };
  const attempt = { subscription } as unknown as Attempt;
  const rows = ["1\n", "2\n"].map((row) => ({ attempt, row: Buffer.from(row) }));
  const outcomes = new Promise<string[]>((resolve) => {
    batches.send(rows, (results) =>
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

  it("is tried again when the disk refuses it", async () => {
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
    const batches = createFileBatches({ clock: createVirtualClock(time) });
    const subscription = { timeoutMs: 1000, destination: { to: { path: "/srv/a" } } };
    const row = { attempt: { subscription } as unknown as Attempt, row: Buffer.from("1\n") };
    const [result] = await new Promise<readonly { outcome: object }[]>((resolve) => batches.send([row], resolve));
    expect(result?.outcome).toMatchObject({
      kind: "failed",
      says: "nothing",
      error: expect.stringContaining("POSTHORN_BATCH_DIR"),
    });
  });
});
