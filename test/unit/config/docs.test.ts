import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { renderConfigDocs } from "../../../scripts/reference/configuration.ts";
import { findStaleFiles } from "../../../scripts/write-reference.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { SETTINGS } from "../../../src/config/settings-tree.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

describe("the pages of the reference that are made from code", () => {
  it("are not stale (else run `tsx scripts/write-reference.ts`)", async () => {
    expect(await findStaleFiles()).toEqual([]);
  });

  it("would be found to be stale", async () => {
    expect(await findStaleFiles(new URL("file:///nowhere/"))).toContain("docs/reference/commands.md");
  });
});

describe("the documentation of the settings", () => {
  it("gives every setting its own environment name and a meaning", () => {
    const names = SETTINGS.map(({ schema }) => schema.env);
    expect(new Set(names).size).toBe(SETTINGS.length);
    const docs = renderConfigDocs();
    for (const { path, schema } of SETTINGS) {
      expect(schema.env).toMatch(/^(POSTHORN_[A-Z_]+|AZURE_[A-Z_]+|SMARTSHEET_[A-Z_]+|VALIDATION_MODE)$/);
      expect(docs).toContain(`| \`${path}\` | \`${schema.env}\``);
      expect(docs).toContain(String(schema.description));
    }
  });

  it("has an example file that loads", () => {
    const { config, warnings } = loadConfig({ file: "posthorn.example.yaml", env: {}, cwd: ROOT });
    expect(config.subscriptions.map(({ name }) => name)).toEqual(["warehouse", "audit"]);
    expect(warnings).toEqual([]);
  });

  it("has an example environment that changes nothing when its lines are used as they are", () => {
    const lines =
      readFileSync(`${ROOT}.env.example`, "utf8").match(/^#(POSTHORN_|AZURE_|SMARTSHEET_|VALIDATION_MODE).*$/gm) ?? [];
    expect(lines).toHaveLength(SETTINGS.length);
    const env = Object.fromEntries(lines.map((line) => line.slice(1).split("=", 2)));
    const file = "posthorn.example.yaml";
    const given = loadConfig({ file, env, cwd: ROOT });
    expect(given.warnings).toEqual([]);
    expect(given.config.limits).toEqual(loadConfig({ file, env: {}, cwd: ROOT }).config.limits);
  });
});
