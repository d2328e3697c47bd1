import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../../support/api-client.ts";
import { createThreadLine, type ThreadLineOptions } from "../../../../src/receive/validation/thread-line.ts";

const folder = mkdtempSync(join(tmpdir(), "posthorn-line-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Adds one; hangs, ends or runs out of memory when it is told to. */
writeFileSync(
  join(folder, "thread.mjs"),
  `import { parentPort } from "node:worker_threads";
  let calls = 0;
  parentPort.on("message", ({ number, act, once }) => {
    calls++;
    if (act === "hang") for (;;);
    if (act === "exit" || (act === "exit-first" && !once?.[0])) {
      if (once) once[0] = 1;
      process.exit();
    }
    if (act === "eat") { const all = []; for (;;) all.push(new Array(1e4).fill({})); }
    parentPort.postMessage({ sum: number + 1, calls });
  });
  parentPort.postMessage("ready");`,
);

interface Call {
  number: number;
  act?: string;
  once?: Int32Array;
}

function open(change: Partial<ThreadLineOptions> = {}) {
  const line = createThreadLine<Call, { sum: number; calls: number }>({
    thread: pathToFileURL(join(folder, "thread.mjs")),
    deadlineMs: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    ...change,
  });
  onTestFinished(line.close);
  return line;
}

describe("a line of calls into a thread", () => {
  it("answers each in its turn, from one thread", async () => {
    const line = open();
    const replies = await Promise.all([1, 2, 3].map((number) => line.call({ number }, 10)));
    expect(replies).toEqual([
      { sum: 2, calls: 1 },
      { sum: 3, calls: 2 },
      { sum: 4, calls: 3 },
    ]);
  });

  it("ends what takes too long, and nothing of those that wait behind it", async () => {
    const line = open({ deadlineMs: 1000 });
    const monster = line.call({ number: 1, act: "hang" }, 10);
    const others = [2, 3].map((number) => line.call({ number }, 10));
    await expect(monster).rejects.toThrow(/takes too long/);
    expect((await Promise.all(others)).map(({ sum }) => sum)).toEqual([3, 4]);
  });

  it("tries once more what was lost with its thread, and then gives it up as unavailable", async () => {
    const line = open();
    const once = new Int32Array(new SharedArrayBuffer(4));
    expect((await line.call({ number: 1, act: "exit-first", once }, 10)).sum).toBe(2);
    for (const act of ["exit", "eat"]) {
      await expect(line.call({ number: 1, act }, 10)).rejects.toMatchObject({ code: "unavailable" });
    }
    expect((await line.call({ number: 5 }, 10)).sum).toBe(6);
  });

  it("takes no more than it can hold", async () => {
    const line = open();
    const large = 9 * 1024 * 1024;
    const first = line.call({ number: 1 }, large);
    await expect(line.call({ number: 2 }, large)).rejects.toMatchObject({ code: "overloaded" });
    await first;
    expect((await line.call({ number: 3 }, 30 * 1024 * 1024)).sum).toBe(4);
  });

  it("lets the thread go when nobody calls for a while", async () => {
    const line = open({ idleMs: 1 });
    expect((await line.call({ number: 1 }, 10)).calls).toBe(1);
    // The next one that is the first of its thread.
    await until(async () => (await line.call({ number: 1 }, 10)).calls === 1);
    const kept = open();
    await kept.call({ number: 1 }, 10);
    expect((await kept.call({ number: 1 }, 10)).calls).toBe(2);
  });
});
