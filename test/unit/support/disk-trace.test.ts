import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readDiskTrace } from "../../support/disk-trace.ts";

const folder = mkdtempSync(join(tmpdir(), "posthorn-trace-"));
afterAll(() => rmSync(folder, { recursive: true }));

const hex = (text: string) => Buffer.from(text).toString("hex").replaceAll(/../g, "\\x$&");
const DATABASE = "/data/posthorn.db";
const OPEN = `openat(AT_FDCWD<${hex("/data")}>, "${hex(DATABASE)}", O_WRONLY|O_CREAT|O_EXCL|O_TRUNC, 0600`;

async function read(...lines: string[]) {
  const file = join(folder, "trace");
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return readDiskTrace(file, "/data");
}

describe("a trace of what was done to a disk", () => {
  it("tells of a file that was opened, also where another thread came in between", async () => {
    const opened = { kind: "open", path: DATABASE, truncates: true };
    expect(await read(`7 ${OPEN}) = 3`)).toEqual([opened]);
    expect(await read(`7 ${OPEN} <unfinished ...>`, "7 <... openat resumed>) = 3")).toEqual([opened]);
  });

  it("does not tell of one that could not be opened, also where another thread came in between", async () => {
    const failed = "= -1 EEXIST (File exists)";
    expect(await read(`7 ${OPEN}) ${failed}`)).toEqual([]);
    expect(await read(`7 ${OPEN} <unfinished ...>`, `7 <... openat resumed>) ${failed}`)).toEqual([]);
  });

  it("tells when a sync begins and when it ends", async () => {
    const sync = `fdatasync(5<${hex(DATABASE)}>`;
    const [begins, ends] = ["sync begins", "sync ends"].map((kind) => ({ kind, path: DATABASE }));
    expect(await read(`7 ${sync}) = 0`)).toEqual([begins, ends]);
    expect(await read(`7 ${sync} <unfinished ...>`, "7 <... fdatasync resumed>) = 0")).toEqual([begins, ends]);
    expect(await read(`7 ${sync} <unfinished ...>`, "7 <... fdatasync resumed>) = -1 EIO (x)")).toEqual([begins]);
  });
});
