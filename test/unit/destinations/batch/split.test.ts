import { assert, constant, constantFrom, integer, nat, oneof, property, record, uniqueArray } from "fast-check";
import { describe, expect, it } from "vitest";
import { sendInParts, type Part, type SplitOptions } from "../../../../src/destinations/batch/split.ts";
import { DELIVERED, failed, refused } from "../../../../src/model/outcome.ts";

type Splitter = (options: SplitOptions<string>) => void;

interface World {
  rowCount: number;
  pieceRows: number;
  bad: ReadonlySet<number>;
  /** Which requests name the bad row. */
  tells: (request: number) => boolean;
  /** From this request on the destination is down. */
  failsAt: number;
}

interface Account {
  /** Rows that the destination has, as they came. */
  taken: number[];
  kinds: string[];
  sizes: number[];
  stoppedAt: number | undefined;
}

function run(splitter: Splitter, { rowCount, pieceRows, bad, tells, failsAt }: World): Account {
  const taken: number[] = [];
  const sizes: number[] = [];
  let account: Account | undefined;
  splitter({
    rowCount,
    pieceRows,
    send({ start, end }: Part, done) {
      const request = sizes.push(end - start) - 1;
      if (request >= failsAt) return done({ verdict: "stopped", outcome: failed("down"), fact: "" });
      const rows = Array.from({ length: end - start }, (_, i) => start + i);
      const first = rows.findIndex((row) => bad.has(row));
      if (first !== -1) {
        const badRow = tells(request) ? first : undefined;
        return done({ verdict: "refused", badRow, outcome: refused("bad row"), fact: "" });
      }
      taken.push(...rows);
      done({ verdict: "taken", outcome: DELIVERED, fact: "" });
    },
    done(results, stoppedAt) {
      account = { taken, sizes, stoppedAt, kinds: results.map(({ outcome }) => outcome.kind) };
    },
  });
  if (account === undefined) throw new Error("nothing was reported");
  return account;
}

/** What every batch must come to, whatever is refused. Empty when all is well. */
function findFaults(splitter: Splitter, world: World): string[] {
  const { taken, kinds } = run(splitter, world);
  const { rowCount, bad } = world;
  const isUp = world.failsAt === Number.POSITIVE_INFINITY;
  const faults: string[] = [];
  if (kinds.length !== rowCount) faults.push("a row has no outcome");
  if (new Set(taken).size !== taken.length) faults.push("a row was taken twice");
  if (taken.some((row, i) => row < (taken[i - 1] ?? -1))) faults.push("rows were taken in another order");
  for (let row = 0; row < rowCount; row++) {
    const isTaken = taken.includes(row);
    if (isTaken !== (kinds[row] === "delivered")) faults.push(`row ${row} is reported wrongly`);
    if (kinds[row] === "refused" && !bad.has(row)) faults.push(`row ${row} is refused for another's fault`);
    if (isUp && !isTaken && !bad.has(row)) faults.push(`row ${row} is lost`);
  }
  return faults;
}

const worlds = record({
  rowCount: integer({ min: 1, max: 70 }),
  pieceRows: integer({ min: 1, max: 80 }),
  bad: uniqueArray(nat(69), { maxLength: 12 }),
  tellsOdd: constantFrom(0, 1, 2),
  failsAt: oneof(constant(Number.POSITIVE_INFINITY), nat(40)),
}).map(({ bad, tellsOdd, ...world }): World => ({
  ...world,
  bad: new Set(bad),
  tells: (request) => tellsOdd === 1 || (tellsOdd === 2 && request % 2 === 1),
}));

describe("a batch that is rejected in part", () => {
  it("loses no row, sends none twice, keeps their order, and rejects bad ones alone", () => {
    assert(
      property(worlds, (world) => {
        expect(findFaults(sendInParts, world)).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it.each<[string, string, Splitter]>([
    [
      "sends the second half first",
      "rows were taken in another order",
      (options) =>
        sendInParts({
          ...options,
          send: ({ start, end }, done) =>
            options.send({ start: options.rowCount - end, end: options.rowCount - start }, done),
        }),
    ],
    [
      "refuses the whole for one row",
      "is refused for another's fault",
      (options) =>
        sendInParts({
          ...options,
          send: (part, done) =>
            options.send(part, (result) => {
              const { verdict, outcome } = result;
              const isRefused = verdict === "refused";
              done(isRefused ? { verdict: "taken", outcome, fact: "" } : result);
            }),
        }),
    ],
    [
      "sends a part again that was taken",
      "a row was taken twice",
      (options) =>
        sendInParts({ ...options, send: (part, done) => options.send(part, () => options.send(part, done)) }),
    ],
  ])("is found out when it %s", (_, fault, broken) => {
    const bad = new Set([3]);
    const world = { rowCount: 10, pieceRows: 10, bad, tells: () => false, failsAt: Number.POSITIVE_INFINITY };
    expect(findFaults(sendInParts, world)).toEqual([]);
    expect(findFaults(broken, world).join()).toContain(fault);
  });

  const ONE_BAD = { rowCount: 1000, pieceRows: 1000, bad: new Set([700]), failsAt: Number.POSITIVE_INFINITY };

  it("finds one bad row among a thousand with about twenty requests, and with four where it is named", () => {
    expect(run(sendInParts, { ...ONE_BAD, tells: () => false }).sizes.length).toBeLessThanOrEqual(21);
    expect(run(sendInParts, { ...ONE_BAD, tells: () => true }).sizes).toEqual([1000, 700, 1, 299]);
  });

  it("stops at what holds for all rows, and says how large the part was", () => {
    const { kinds, stoppedAt } = run(sendInParts, { ...ONE_BAD, tells: () => false, failsAt: 2 });
    expect(stoppedAt).toBe(500);
    expect([kinds.slice(0, 500), kinds.slice(500)].map((part) => new Set(part))).toEqual([
      new Set(["delivered"]),
      new Set(["failed"]),
    ]);
  });

  it("sends nothing behind a rejected row where those behind must wait", () => {
    const kinds: string[] = [];
    const sent: number[][] = [];
    sendInParts({
      rowCount: 8,
      pieceRows: 8,
      heldBehind: { outcome: failed("it waits"), fact: "" },
      send({ start, end }, done) {
        sent.push([start, end]);
        if (start <= 3 && end > 3) done({ verdict: "refused", outcome: refused("bad row"), fact: "" });
        else done({ verdict: "taken", outcome: DELIVERED, fact: "" });
      },
      done: (results) => void kinds.push(...results.map(({ outcome }) => outcome.kind)),
    });
    expect(kinds).toEqual([...Array(3).fill("delivered"), "refused", ...Array(4).fill("failed")]);
    expect(sent.at(-1)).toEqual([3, 4]);
  });

  it("cuts in the middle where a destination names a row that is not there", () => {
    const sizes: number[] = [];
    sendInParts<string>({
      rowCount: 4,
      pieceRows: 4,
      send({ start, end }, done) {
        sizes.push(end - start);
        const isBad = start <= 1 && end > 1;
        if (isBad) done({ verdict: "refused", badRow: 99, outcome: refused("bad"), fact: "" });
        else done({ verdict: "taken", outcome: DELIVERED, fact: "" });
      },
      done: () => undefined,
    });
    expect(sizes).toEqual([4, 2, 1, 1, 2]);
  });
});
