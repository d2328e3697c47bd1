import { stored } from "../../../src/model/accepted.ts";
import { describe, expect, it } from "vitest";
import type { PosthornError } from "../../../src/model/errors.ts";
import { BATCH_LIMITS, failAll, type BatchResult, type WriteBatch } from "../../../src/store/commit/batch.ts";
import { createGroupCommit } from "../../../src/store/commit/group-commit.ts";
import {
  createStandingClock,
  newAttempt,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  NOON,
} from "../../support/store-fixtures.ts";

const COMMAND = { port: "lanes", name: "expire", args: [] };

/** A port that keeps each batch until it is told what became of it. */
function createScriptedPort(isApart = true) {
  const posted: { batch: WriteBatch; done: (result: BatchResult) => void }[] = [];
  const fatal: PosthornError[] = [];
  const faults: unknown[] = [];
  const commits = createGroupCommit({
    port: { isApart, post: (batch, done) => void posted.push({ batch, done }) },
    clock: createStandingClock(),
    onFatal: (error) => fatal.push(error),
    onFault: (error) => faults.push(error),
  });
  let answered = 0;
  return {
    commits,
    posted,
    fatal,
    faults,
    answer: (make: (batch: WriteBatch) => BatchResult = succeed) => {
      const next = posted[answered++];
      if (next === undefined) throw new Error("no batch waits for an answer");
      next.done(make(next.batch));
    },
  };
}

function succeed(batch: WriteBatch): BatchResult {
  return {
    settles: batch.settles.map(() => ({ applied: true, next: undefined, movedUp: false })),
    accepts: batch.accepts.map(({ event, deliveries }, i) =>
      stored(
        event.id,
        i + 1,
        deliveries.map(() => false),
      ),
    ),
    commands: batch.commands.map(() => ({ value: undefined })),
    claims: batch.claims.map(() => ({ claimed: [], expired: 0, nextDueAt: undefined })),
    fatal: undefined,
  };
}

const nextTurn = () => new Promise(setImmediate);
const item = (deliveries = 0, bodyBytes = 0) => ({
  event: newEvent({ body: new Uint8Array(bodyBytes) }),
  deliveries: Array.from({ length: deliveries }, () => newDelivery(1)),
});
const ignore = () => undefined;

describe("group commit", () => {
  it("lets an idle writer begin before a turn with many events ends, but not between what belongs together", async () => {
    const { commits, posted, answer } = createScriptedPort();
    const accept = (count: number) => {
      for (let n = 0; n < count; n++) commits.accept(item(), ignore);
    };
    const sizes = () => posted.map(({ batch }) => batch.accepts.length);
    accept(24);
    expect(sizes()).toEqual([]);
    accept(30);
    expect(sizes()).toEqual([24]);
    await nextTurn();
    expect(sizes()).toEqual([24, 30]);
    answer();
    answer();
    accept(24);
    void commits.command(COMMAND);
    accept(30);
    expect(sizes()).toEqual([24, 30]);
    await nextTurn();
    expect(sizes()).toEqual([24, 30, 54]);
    expect(posted[2]?.batch.commands).toHaveLength(1);
  });

  it("answers everyone in a batch although the callback of one throws", async () => {
    const { commits, faults, answer } = createScriptedPort();
    const answered: string[] = [];
    const accept = (id: string) =>
      commits.accept(item(), () => {
        if (id === "b") throw new TypeError("a bug");
        answered.push(id);
      });
    for (const id of ["a", "b", "c"]) accept(id);
    commits.settle(newSettlement({ eventSeq: 1, subscriptionSeq: 1 }), () => answered.push("settled"));
    await nextTurn();
    answer();
    await commits.drain();
    accept("b");
    expect([answered, faults]).toEqual([
      ["a", "c", "settled"],
      [new TypeError("a bug"), new TypeError("a bug")],
    ]);
  });

  it("keeps a turn together where the writer is no thread of its own", async () => {
    const { commits, posted } = createScriptedPort(false);
    for (let n = 0; n < 100; n++) commits.accept(item(), ignore);
    expect(posted).toEqual([]);
    await nextTurn();
    expect(posted[0]?.batch.accepts).toHaveLength(100);
  });

  it("puts everything of a turn into one batch, and what comes later into the next, in this order", async () => {
    const { commits, posted, answer } = createScriptedPort();
    const answers: string[] = [];
    commits.accept(item(), () => answers.push("a1"));
    commits.settle(newSettlement({ eventSeq: 1, subscriptionSeq: 1 }), () => answers.push("s1"));
    commits.claim({ subscriptionSeq: 1, limit: 1 }, () => answers.push("c1"));
    await nextTurn();
    commits.accept(item(), () => answers.push("a2"));
    await nextTurn();
    expect(posted).toHaveLength(2);
    expect(posted[0]?.batch).toMatchObject({
      at: { now: NOON, wall: NOON },
      accepts: [{}],
      settles: [{}],
      claims: [{}],
    });
    answer();
    expect(answers).toEqual(["a1", "s1", "c1"]);
    answer();
    expect(answers.at(-1)).toBe("a2");
  });

  it("keeps back what comes while eight batches are on their way, and sends it before it answers the first", async () => {
    const { commits, posted, answer } = createScriptedPort();
    const postedWhenAnswered: number[] = [];
    for (let i = 0; i < 10; i++) {
      commits.accept(item(), () => postedWhenAnswered.push(posted.length));
      await nextTurn();
    }
    expect(posted).toHaveLength(8);
    answer();
    expect(postedWhenAnswered).toEqual([9]);
    expect(posted.at(-1)?.batch.accepts).toHaveLength(2);
  });

  /** The batches into which everything that waits is cut. */
  async function batchesOf(fill: (commits: ReturnType<typeof createScriptedPort>["commits"]) => void) {
    const { commits, posted, answer } = createScriptedPort();
    fill(commits);
    await nextTurn();
    for (let i = 0; i < posted.length; i++) answer();
    return posted.map(({ batch }) => batch);
  }

  it(`holds at most ${BATCH_LIMITS.maxRows} rows`, async () => {
    const batches = await batchesOf((commits) => {
      for (let i = 0; i < 13; i++) commits.accept(item(999), ignore);
    });
    expect(batches.map(({ accepts }) => accepts.length)).toEqual([5, 5, 3]);
  });

  it(`holds at most ${BATCH_LIMITS.maxBytes} bytes, and one that is larger goes alone`, async () => {
    const batches = await batchesOf((commits) => {
      for (const megabytes of [1, 3, 1, 9, 1]) commits.accept(item(0, megabytes * 1024 * 1024), ignore);
    });
    expect(batches.map(({ accepts }) => accepts.length)).toEqual([2, 1, 1, 1]);
  });

  it("counts what a settlement brings back, and the rows of a command", async () => {
    const answer = new Uint8Array(8192);
    const settled = await batchesOf((commits) => {
      const attempt = newAttempt({}, { answer });
      for (let i = 0; i < 600; i++)
        commits.settle(newSettlement({ eventSeq: i, subscriptionSeq: 1 }, { attempt }), ignore);
    });
    expect(settled.length).toBe(2);
    const deliveries = Array.from({ length: 4999 }, () => newDelivery(1));
    const commanded = await batchesOf((commits) => {
      for (let i = 0; i < 3; i++)
        void commits.command({ port: "events", name: "fanOut", args: [i, deliveries, undefined] });
    });
    expect(commanded.map(({ commands }) => commands.length)).toEqual([1, 1, 1]);
  });

  it("drops rejected requests beyond what may wait, in number and in bytes", async () => {
    const many = await batchesOf((commits) => {
      for (let i = 0; i < 1500; i++) commits.logRequest(newRequest(`req_${i}`));
    });
    expect(many.map(({ requests }) => requests.length)).toEqual([1000]);
    const large = await batchesOf((commits) => {
      for (let i = 0; i < 9; i++) commits.logRequest(newRequest(`req_${i}`, { body: new Uint8Array(1024 * 1024) }));
    });
    expect(large.map(({ requests }) => requests.length)).toEqual([4]);
  });

  it("fails only those that the answer says have failed", async () => {
    const { commits, answer } = createScriptedPort();
    const results: unknown[] = [];
    commits.accept(item(), (result) => results.push(result));
    commits.accept(item(), (result) => results.push(result));
    const command = commits.command(COMMAND);
    await nextTurn();
    const failed = { fault: "item" as const, message: "bad", code: "conflict" as const };
    answer((batch) => ({
      ...succeed(batch),
      accepts: [{ failed }, stored("a", 4, [])],
      commands: [{ failed }],
    }));
    expect(results).toEqual([{ failed }, stored("a", 4, [])]);
    await expect(command).rejects.toMatchObject({ code: "conflict" });
  });

  it("after a fatal fault fails all that waits and all that comes, tells once, and writes nothing more", async () => {
    const { commits, posted, fatal, answer } = createScriptedPort();
    const results: unknown[] = [];
    const note = (result: unknown) => void results.push(result);
    commits.accept(item(), note);
    await nextTurn();
    for (let i = 0; i < 6; i++) commits.accept(item(4000), note);
    const command = commits.command(COMMAND);
    const report = { fault: "fatal" as const, message: "disk I/O error" };
    answer((batch) => failAll(batch, report));
    await expect(command).rejects.toMatchObject({ code: "unavailable" });
    commits.settle(newSettlement({ eventSeq: 1, subscriptionSeq: 1 }), note);
    commits.logRequest(newRequest("req_1"));
    await nextTurn();
    expect(results).toEqual(Array.from({ length: 8 }, () => ({ failed: report })));
    expect(fatal).toEqual([expect.objectContaining({ code: "unavailable" })]);
    expect(posted).toHaveLength(1);
    await commits.drain();
  });

  it("drains: rejects what comes, and is done when what came before is written", async () => {
    const { commits, posted, answer } = createScriptedPort();
    const results: unknown[] = [];
    for (let i = 0; i < 2; i++) commits.accept(item(4000), (result) => results.push(result));
    let isDrained = false;
    const drained = commits.drain().then(() => (isDrained = true));
    commits.accept(item(), (result) => results.push(result));
    expect(results).toMatchObject([{ failed: { code: "shutting_down" } }]);
    await nextTurn();
    answer();
    await nextTurn();
    expect(isDrained).toBe(false);
    answer();
    await drained;
    expect(posted).toHaveLength(2);
    expect(results).toHaveLength(3);
  });
});
