import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  readBytes,
  readDuration,
  readEnd,
  readJson,
  readObject,
  readSecret,
  readTime,
} from "../../../src/cli/read-value.ts";

let folder: string;
const fileOf = (name: string) => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-values-"));
  writeFileSync(fileOf("thing.yaml"), "name: x\n");
  writeFileSync(fileOf("list.json"), "[1]");
  writeFileSync(fileOf("secret"), "  s3cret\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("values on the command line", () => {
  it("are times, long ago or to come", () => {
    const before = Date.now();
    const hourAgo = Date.parse(readTime("1h", "--since"));
    expect(hourAgo + 3_600_000).toBeGreaterThanOrEqual(before);
    expect(hourAgo + 3_600_000).toBeLessThanOrEqual(Date.now());
    expect(readTime("2026-01-02T03:04:05Z", "--since")).toBe("2026-01-02T03:04:05.000Z");
    expect(Date.parse(readEnd("30d", "--expires"))).toBeGreaterThan(Date.now());
    for (const wrong of ["soon", "-1h", ""]) expect(() => readTime(wrong, "--since")).toThrow(`--since: "${wrong}"`);
    for (const wrong of ["yesterday", "2001-01-01T00:00:00Z", "999999999d"]) {
      expect(() => readEnd(wrong, "--expires")).toThrow(`--expires: "${wrong}" is not a time in the future`);
    }
  });

  it("are durations in seconds", () => {
    expect(["0", "90", "90s", "2h", "14d"].map((text) => readDuration(text, "--overlap"))).toEqual([
      0, 90, 90, 7200, 1_209_600,
    ]);
    expect(() => readDuration("soon", "--overlap")).toThrow('--overlap: "soon" is not a duration');
  });

  it("are JSON, or stand in files", () => {
    expect(readJson('{"a":1}', "--filter")).toEqual({ a: 1 });
    expect(readJson(`@${fileOf("thing.yaml")}`, "--filter")).toEqual({ name: "x" });
    expect(readObject(fileOf("thing.yaml"))).toEqual({ name: "x" });
    expect(() => readObject(fileOf("list.json"))).toThrow("does not contain an object");
    expect(readSecret(fileOf("secret"))).toBe("s3cret");
    expect(() => readBytes(fileOf("nowhere"))).toThrow("(ENOENT)");
  });
});
