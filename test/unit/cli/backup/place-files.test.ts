import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findConfigConflicts, findLinkedFolder, placeConfigFiles } from "../../../../src/cli/restore.ts";
import type { Manifest } from "../../../../src/cli/backup/manifest.ts";

let folder: string;
let stage: string;
let configDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-places-"));
  [stage, configDir] = [join(folder, "stage"), join(folder, "etc")];
  mkdirSync(join(stage, "config/types"), { recursive: true });
  mkdirSync(configDir);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function manifestOf(...names: string[]): Manifest {
  const parts = names.map((name) => {
    writeFileSync(join(stage, name), name);
    return { name, bytes: name.length, sha256: createHash("sha256").update(name).digest("hex") };
  });
  return { parts } as Manifest;
}

describe("the configuration files of a restore", () => {
  it("are written below their folder, and what differs is kept aside", () => {
    const manifest = manifestOf("config/posthorn.yaml", "config/types/a.json");
    writeFileSync(join(configDir, "posthorn.yaml"), "old");
    expect(findConfigConflicts(manifest, configDir)).toEqual([join(configDir, "posthorn.yaml")]);
    expect(findLinkedFolder(manifest, configDir)).toBeUndefined();
    const { written, kept } = placeConfigFiles(manifest, stage, configDir, "now");
    expect(written).toHaveLength(2);
    expect(kept.map((path) => readFileSync(path, "utf8"))).toEqual(["old"]);
  });

  it("are never written through a link, wherever it leads", () => {
    const manifest = manifestOf("config/posthorn.yaml");
    const outside = join(folder, "outside.yaml");
    symlinkSync(outside, join(configDir, "posthorn.yaml"));
    // The link is something that is there, though it leads to nothing.
    expect(findConfigConflicts(manifest, configDir)).toEqual([join(configDir, "posthorn.yaml")]);
    placeConfigFiles(manifest, stage, configDir, "now");
    expect(existsSync(outside)).toBe(false);
    expect(readFileSync(join(configDir, "posthorn.yaml"), "utf8")).toBe("config/posthorn.yaml");
  });

  it("are not written into a folder that is a link", () => {
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync(join(folder, "elsewhere"), join(configDir, "types"));
    expect(findLinkedFolder(manifestOf("config/types/a.json"), configDir)).toBe(join(configDir, "types"));
  });
});
