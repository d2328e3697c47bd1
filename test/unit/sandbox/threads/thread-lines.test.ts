import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../../support/api-client.ts";
import { findOwnTaskId, readWorkedMs } from "../../../../src/sandbox/threads/serve-calls.ts";
import { createThreadLines, type ThreadLinesOptions } from "../../../../src/sandbox/threads/thread-lines.ts";
import { skipBecause } from "../../../support/skip.ts";

const folder = mkdtempSync(join(tmpdir(), "posthorn-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Adds one; hangs, waits for a gate, ends or runs out of memory when it is told to. */
writeFileSync(
  join(folder, "thread.mjs"),
  `import { readlinkSync } from "node:fs";
  import { parentPort } from "node:worker_threads";
  let calls = 0;
  parentPort.on("message", ({ number, act, flag }) => {
    calls++;
    if (act === "hang") for (;;);
    if (act === "gate") Atomics.wait(flag, 0, 0);
    if (act === "exit" || (act === "exit-first" && !flag[0])) {
      if (flag) flag[0] = 1;
      process.exit();
    }
    if (act === "eat") { const all = []; for (;;) all.push(new Array(1e4).fill({})); }
    parentPort.postMessage({ sum: number + 1, calls });
  });
  let taskId;
  try { taskId = Number(readlinkSync("/proc/thread-self").split("/").at(-1)); } catch {}
  parentPort.postMessage({ isReady: true, taskId });`,
);

/** Threads start slowly on a machine that has much to do. */
const SLOW = { timeout: 120_000 };
const PLENTY_MS = 60_000;

interface Call {
  number: number;
  act?: "hang" | "gate" | "exit" | "exit-first" | "eat";
  flag?: Int32Array;
}

function open(change: Partial<ThreadLinesOptions> = {}) {
  const lines = createThreadLines<Call, { sum: number; calls: number }>({
    thread: pathToFileURL(join(folder, "thread.mjs")),
    maxThreads: 1,
    idleMs: PLENTY_MS,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    ...change,
  });
  onTestFinished(lines.close);
  return {
    send: (line: string, call: Call, { bytes = 10, deadlineMs = PLENTY_MS, sender = "" } = {}) =>
      lines.run(line, bytes, (send) => send(call, deadlineMs), sender),
    close: lines.close,
  };
}

/** A call with it does not end before it is opened. */
function createGate() {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  return {
    call: { number: 0, act: "gate", flag } satisfies Call,
    open() {
      flag[0] = 1;
      Atomics.notify(flag, 0);
    },
  };
}

describe("work for a few threads, in lines", SLOW, () => {
  it("is done in its turn, by one thread where there is one line", async () => {
    const { send } = open({ maxThreads: 3 });
    const replies = await Promise.all([1, 2, 3].map((number) => send("a", { number })));
    expect(replies).toEqual([
      { sum: 2, calls: 1 },
      { sum: 3, calls: 2 },
      { sum: 4, calls: 3 },
    ]);
  });

  it("ends when it takes too long, and nothing of what waits behind it", async () => {
    const { send } = open();
    const monster = send("a", { number: 1, act: "hang" }, { deadlineMs: 200 });
    const others = ["a", "b"].map((line) => send(line, { number: 2 }));
    await expect(monster).rejects.toThrow(/took too long/);
    expect((await Promise.all(others)).map(({ sum }) => sum)).toEqual([3, 3]);
  });

  it("of one line is not waited for by another, and has no more than one thread", async () => {
    const { send } = open({ maxThreads: 2 });
    const gate = createGate();
    const ended: string[] = [];
    const note = (name: string) => () => ended.push(name);
    const held = send("slow", gate.call).then(note("held"));
    const behind = send("slow", { number: 1 }).then(note("behind"));
    await send("other", { number: 1 }).then(note("other"));
    await send("other", { number: 1 }).then(note("other"));
    expect(ended).toEqual(["other", "other"]);
    gate.open();
    await Promise.all([held, behind]);
    expect(ended.slice(2)).toEqual(["held", "behind"]);
  });

  it("is a test that can fail: with one thread for all, the other line waits", async () => {
    const { send } = open({ maxThreads: 1 });
    const gate = createGate();
    const ended: string[] = [];
    const all = [
      send("slow", gate.call).then(() => ended.push("held")),
      send("other", { number: 1 }).then(() => ended.push("other")),
    ];
    gate.open();
    await Promise.all(all);
    expect(ended).toEqual(["held", "other"]);
  });

  it("takes turns: a line with much to do has one call, then the others have theirs", async () => {
    const { send } = open({ maxThreads: 1 });
    const gate = createGate();
    const ended: string[] = [];
    const all = ["long", "long", "long", "long", "short"].map((line, at) =>
      send(line, at === 0 ? gate.call : { number: 1 }).then(() => ended.push(line)),
    );
    gate.open();
    await Promise.all(all);
    expect(ended).toEqual(["long", "long", "short", "long", "long"]);
  });

  it("takes turns inside a line too: a sender with much to do has one call, then the others have theirs", async () => {
    const { send } = open({ maxThreads: 2 });
    const gate = createGate();
    const ended: string[] = [];
    const all = ["long", "long", "long", "long", "short"].map((sender, at) =>
      send("one", at === 0 ? gate.call : { number: 1 }, { sender }).then(() => ended.push(sender)),
    );
    gate.open();
    await Promise.all(all);
    expect(ended).toEqual(["long", "long", "short", "long", "long"]);
  });

  it("is rejected when the threads are closed, whether it runs or waits", async () => {
    const { send, close } = open();
    const all = [send("a", { number: 1, act: "hang" }), send("a", { number: 1 }), send("b", { number: 1 })];
    const [results] = await Promise.all([Promise.allSettled(all), close()]);
    expect(results.map((result) => "reason" in result && (result.reason as { code: string }).code)).toEqual([
      "unavailable",
      "unavailable",
      "unavailable",
    ]);
    await expect(send("a", { number: 1 })).rejects.toMatchObject({ code: "unavailable" });
  });

  it("of lines that took long leaves one thread to those that did not", async () => {
    const { send } = open({ maxThreads: 2 });
    const monster: Call = { number: 1, act: "hang" };
    for (const line of ["slow-1", "slow-2"]) {
      await expect(send(line, monster, { deadlineMs: 20 })).rejects.toThrow(/took too long/);
    }
    const gate = createGate();
    const held = ["slow-1", "slow-2"].map((line) => send(line, gate.call));
    // Both threads would be held by now.
    expect((await send("quick", { number: 1 })).sum).toBe(2);
    gate.open();
    await Promise.all(held);
  });

  it("is tried once more when its thread was lost, and then given up as unavailable", async () => {
    const { send } = open();
    const flag = new Int32Array(new SharedArrayBuffer(4));
    expect((await send("a", { number: 1, act: "exit-first", flag })).sum).toBe(2);
    for (const act of ["exit", "eat"] as const) {
      await expect(send("a", { number: 1, act })).rejects.toMatchObject({ code: "unavailable" });
    }
    expect((await send("a", { number: 5 })).sum).toBe(6);
  });

  it("is rejected where a sender, or all of them, hold as much as they can, and never to an empty line alone", async () => {
    const { send } = open();
    const gate = createGate();
    const bytes = 5 * 1024 * 1024;
    const first = send("a", gate.call, { bytes });
    const second = send("a", { number: 2 }, { bytes });
    const sender = send("a", { number: 2 }, { bytes, sender: "another" });
    const others = Array.from({ length: 10 }, (_, n) => send(`other-${n}`, { number: n }, { bytes }));
    const oneMore = send("one-more", { number: 2 }, { bytes });
    gate.open();
    await Promise.allSettled([first, second, sender, ...others, oneMore]);
    for (const refused of [second, oneMore]) await expect(refused).rejects.toMatchObject({ code: "overloaded" });
    await Promise.all([first, sender, ...others]);
    expect((await send("a", { number: 3 }, { bytes: 100 * 1024 * 1024 })).sum).toBe(4);
  });

  it("of one line leaves half of the room to the others, however many senders it has", async () => {
    const { send } = open();
    const gate = createGate();
    const bytes = 5 * 1024 * 1024;
    const held = Array.from({ length: 6 }, (_, n) =>
      send("full", n === 0 ? gate.call : { number: n }, { bytes, sender: `sender-${n}` }),
    );
    const oneMore = send("full", { number: 2 }, { bytes, sender: "one-more" });
    const other = send("other", { number: 2 }, { bytes: 3 * bytes });
    gate.open();
    await expect(oneMore).rejects.toMatchObject({ code: "overloaded" });
    expect((await other).sum).toBe(3);
    await Promise.all(held);
    expect((await send("full", { number: 2 }, { bytes, sender: "one-more" })).sum).toBe(3);
  });

  it("lets its threads go when there is none for a while, but the first where it is to stay", async () => {
    const { send } = open({ idleMs: 1 });
    expect((await send("a", { number: 1 })).calls).toBe(1);
    // The next one that is the first of its thread.
    await until(async () => (await send("a", { number: 1 })).calls === 1);
    const kept = open({ idleMs: 1, keepFirst: true });
    await kept.send("a", { number: 1 });
    expect((await kept.send("a", { number: 1 })).calls).toBe(2);
  });
});

describe("how long a thread has worked", () => {
  it("grows while it works, where the system tells", (context) => {
    const taskId = findOwnTaskId();
    const before = readWorkedMs(taskId);
    if (before === undefined) return skipBecause(context, "only Linux tells how long a thread has worked");
    let sum = 0;
    while ((readWorkedMs(taskId) ?? 0) < before + 5) sum++;
    expect(sum).toBeGreaterThan(0);
    expect(readWorkedMs(undefined)).toBeUndefined();
    expect(readWorkedMs(2 ** 30)).toBeUndefined();
  });
});
