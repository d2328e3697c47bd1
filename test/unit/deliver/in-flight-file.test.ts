import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type InFlightFile, openInFlightFile } from "../../../src/deliver/in-flight-file.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";
import { useFolder } from "../../support/store-folder.ts";

function claimed(eventSeq: number, attemptCount = 0): ClaimedDelivery {
  return { eventSeq, subscriptionSeq: 7, generation: 2, attemptCount } as ClaimedDelivery;
}

function start(file: InFlightFile, delivery: ClaimedDelivery): number {
  let at = -1;
  file.start([delivery], ([place = -1]) => (at = place));
  return at;
}

describe("the file of what is in flight", () => {
  const folder = useFolder();
  const faults: unknown[] = [];
  const open = (name: string, places = 100) => {
    const file = openInFlightFile(join(folder.path, name), {
      places,
      onFault: (error) => faults.push(error),
      defer: (write) => write(),
    });
    folder.onEnd(() => file.close());
    return file;
  };
  const begin = (name: string, places?: number) => {
    const file = open(name, places);
    file.begin();
    return file;
  };

  it("tells the next process what was being sent, whatever became of this one", () => {
    const file = begin("a");
    expect(file.left).toEqual([]);
    start(file, claimed(Number.MAX_SAFE_INTEGER, 3));
    start(file, claimed(2));
    const mark = { subscriptionSeq: 7, generation: 2 };
    const next = begin("a");
    expect(next.left).toEqual([
      { ...mark, eventSeq: Number.MAX_SAFE_INTEGER, attemptNumber: 4 },
      { ...mark, eventSeq: 2, attemptNumber: 1 },
    ]);
    // It is told once: whoever begins has recovered it.
    expect(open("a").left).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("tells the next process that this one was stopped in order, until the next one begins", () => {
    const file = begin("g");
    expect(file.wasStopped).toBe(false);
    start(file, claimed(1));
    file.stop();
    // A start that fails before it has recovered takes nothing away, and is no stop of its own.
    const failed = open("g");
    failed.stop();
    expect(failed).toMatchObject({ wasStopped: true, left: [{ eventSeq: 1 }] });
    expect(begin("g")).toMatchObject({ wasStopped: true, left: [{ eventSeq: 1 }] });
    const crashed = open("g");
    expect(crashed).toMatchObject({ wasStopped: false, left: [] });
    crashed.stop();
    expect(open("g").wasStopped).toBe(false);
    expect(faults).toEqual([]);
  });

  it("uses places again, and so stays as large as what may be in flight", () => {
    const file = begin("b", 3);
    for (let round = 1; round < 50; round++) {
      const places = [1, 2, 3].map((n) => start(file, claimed(round * 10 + n)));
      for (const place of places) file.end(place);
    }
    expect(statSync(join(folder.path, "b")).size).toBe((1 + 3) * 32);
    expect(new Set(open("b").left.map(({ eventSeq }) => eventSeq))).toEqual(new Set([491, 492, 493]));
  });

  it("tells once what more than it has room for left behind", () => {
    const file = begin("e", 1);
    for (let n = 1; n <= 4; n++) start(file, claimed(n));
    expect(begin("e", 1).left).toHaveLength(4);
    expect(open("e", 1).left).toEqual([]);
  });

  it("lets nothing go before it is written, and writes what came together at once", () => {
    const path = join(folder.path, "d");
    let write = () => {};
    const file = openInFlightFile(path, { places: 4, onFault: (e) => faults.push(e), defer: (go) => (write = go) });
    folder.onEnd(() => file.close());
    file.begin();
    const onDisk = () =>
      [32, 64, 96, 128, 160, 192].map(
        (at) => readFileSync(path).subarray(at).length >= 32 && readFileSync(path).readDoubleLE(at),
      );
    const seen: unknown[] = [];
    for (let n = 1; n <= 6; n++) file.start([claimed(n)], ([place]) => seen.push([place, onDisk()]));
    expect([seen, onDisk()]).toEqual([[], [0, 0, 0, 0, false, false]]);
    write();
    expect(seen).toEqual([0, 1, 2, 3, 4, 5].map((place) => [place, [1, 2, 3, 4, 5, 6]]));
    file.end(2);
    file.end(4);
    file.start([claimed(7)], ([place]) => seen.push(place));
    write();
    expect([seen.at(-1), onDisk()]).toEqual([4, [1, 2, 3, 4, 7, 6]]);
    expect(faults).toEqual([]);
  });

  it("notes each delivery of a batch before any of them goes, and frees their places one by one", () => {
    const file = begin("f", 4);
    const seen: (readonly number[])[] = [];
    const batch = [claimed(1), claimed(2), claimed(3)];
    file.start(batch, (places) => seen.push(places));
    expect(seen).toEqual([[0, 1, 2]]);
    file.end(1);
    expect(start(file, claimed(4))).toBe(1);
    expect(open("f").left.map(({ eventSeq }) => eventSeq)).toEqual([1, 4, 3]);
  });

  it("reads nothing from a file that is cut or foreign", () => {
    writeFileSync(join(folder.path, "c"), "short");
    expect(begin("c")).toMatchObject({ left: [], wasStopped: false });
    expect(readFileSync(join(folder.path, "c")).length).toBe((1 + 100) * 32);
  });

  it("lets deliveries go on when it cannot be written, and says so once", () => {
    const onFault = (error: unknown) => faults.push(error);
    const file = openInFlightFile(folder.path, { places: 10, onFault, defer: (write) => write() });
    file.begin();
    for (let n = 1; n < 5; n++) file.end(start(file, claimed(n)));
    file.stop();
    file.close();
    expect(faults).toEqual([expect.objectContaining({ code: "EISDIR" })]);
  });
});
