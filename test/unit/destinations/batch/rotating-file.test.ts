import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRotatingFile, type RotatingFile } from "../../../../src/destinations/batch/rotating-file.ts";
import { createVirtualClock, createVirtualTime, moveClock, type VirtualTime } from "../../../support/virtual-clock.ts";

const RULES = { rotateBytes: 1000, rotateMs: 60_000 };

describe("a file that is rotated", () => {
  let root: string;
  let path: string;
  let time: VirtualTime;
  let file: RotatingFile;
  const make = (at = path) => createRotatingFile(at, root, createVirtualClock(time));
  const append = (text: string, rules = RULES) => file.append(Buffer.from(text), rules);
  const names = () => readdirSync(root).toSorted();
  const read = (name = "orders.ndjson") => readFileSync(join(root, name), "utf8");
  const rotated = () => names().filter((name) => name !== "orders.ndjson");

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "posthorn-batches-"));
    path = join(root, "orders.ndjson");
    time = createVirtualTime(Date.UTC(2026, 0, 1, 12));
    file = make();
  });
  afterEach(async () => {
    await file.close();
    rmSync(root, { recursive: true });
  });

  it("grows in the order of the calls, and nobody else may read it", async () => {
    await Promise.all(["1\n", "2\n", "3\n"].map((line) => append(line)));
    expect(read()).toBe("1\n2\n3\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("goes on where it ended", async () => {
    await append("1\n");
    await file.close();
    file = make();
    await append("2\n");
    expect(read()).toBe("1\n2\n");
  });

  it.each([
    ['1\n2\n{"cut', "1\n2\n3\n"],
    ["cut before the first line ended", "3\n"],
    [`1\n${"x".repeat(200_000)}`, "1\n3\n"],
    ["1\n2\n", "1\n2\n3\n"],
  ])("is without the part of a line that a crash left", async (left, after) => {
    writeFileSync(path, left);
    await append("3\n", { ...RULES, rotateBytes: 1_000_000 });
    expect(read()).toBe(after);
  });

  it("gives way to a new one when it would be too large, and never to an empty one", async () => {
    await append(`${"a".repeat(1500)}\n`);
    expect(rotated()).toEqual([]);
    await append("b\n");
    expect(read()).toBe("b\n");
    expect(rotated()).toEqual(["orders.20260101T120000000Z.ndjson"]);
    await append(`${"c".repeat(1500)}\n`);
    expect(rotated()).toEqual(["orders.20260101T120000000Z-1.ndjson", "orders.20260101T120000000Z.ndjson"]);
    expect([read(rotated()[1]).length, read(rotated()[0]), read().length]).toEqual([1501, "b\n", 1501]);
  });

  it("gives way when it is old, also when no more comes", async () => {
    await append("a\n");
    await moveClock(time, 59_000, () => Promise.resolve());
    await append("b\n");
    expect(rotated()).toEqual([]);
    await moveClock(time, 2_000, () => Promise.resolve());
    await expect.poll(() => names()).toEqual(["orders.20260101T120101000Z.ndjson"]);
    expect(read("orders.20260101T120101000Z.ndjson")).toBe("a\nb\n");
    await append("c\n");
    expect(read()).toBe("c\n");
  });

  it("makes its folder, and does not follow a link out of the folder for batches", async () => {
    const inner = make(join(root, "a", "b", "orders.ndjson"));
    await inner.append(Buffer.from("1\n"), RULES);
    await inner.close();
    expect(read("a/b/orders.ndjson")).toBe("1\n");
    const elsewhere = mkdtempSync(join(tmpdir(), "posthorn-elsewhere-"));
    symlinkSync(elsewhere, join(root, "link"));
    const outside = make(join(root, "link", "orders.ndjson"));
    await expect(outside.append(Buffer.from("1\n"), RULES)).rejects.toThrow(/leads outside the folder/);
    symlinkSync(join(elsewhere, "target"), path);
    await expect(append("1\n")).rejects.toThrow(/ELOOP/);
    expect(readdirSync(elsewhere)).toEqual([]);
    rmSync(elsewhere, { recursive: true });
    rmSync(path);
  });

  describe("on a disk with faults", () => {
    const prototypeOf = async () => {
      const handle = await open(join(root, "any"), "w");
      await handle.close();
      return Object.getPrototypeOf(handle) as FileHandle;
    };

    /** The next call of it fails, after what it does. */
    async function failOnce(method: "appendFile" | "sync", before?: (handle: FileHandle) => Promise<unknown>) {
      const prototype = await prototypeOf();
      const real = Object.getOwnPropertyDescriptor(prototype, method) as PropertyDescriptor;
      Object.defineProperty(prototype, method, {
        ...real,
        async value(this: FileHandle) {
          Object.defineProperty(prototype, method, real);
          await before?.(this);
          throw Object.assign(new Error(`EIO: ${method}`), { code: "EIO" });
        },
      });
    }

    it("takes back the part of a batch that was written before a write failed", async () => {
      await append("1\n");
      await failOnce("appendFile", (handle) => handle.write(Buffer.from('2\n{"half')));
      await expect(append("2\n3\n")).rejects.toThrow(/EIO/);
      expect(read()).toBe("1\n");
      await append("2\n3\n");
      expect(read()).toBe("1\n2\n3\n");
    });

    it("goes on in another file after an fsync that failed, for what it says of the next is not to be believed", async () => {
      await append("1\n");
      await failOnce("sync");
      await expect(append("2\n")).rejects.toThrow(/EIO/);
      await append("2\n");
      expect(read()).toBe("2\n");
      expect(rotated()).toHaveLength(2);
    });
  });

  it("says what is wrong where it may not write", async () => {
    mkdirSync(join(root, "orders"));
    const folder = make(join(root, "orders"));
    await expect(folder.append(Buffer.from("1\n"), RULES)).rejects.toThrow(/EISDIR/);
  });
});
