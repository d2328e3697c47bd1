import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfigurationFiles } from "../../../../src/cli/backup.ts";
import { isPartName } from "../../../../src/cli/backup/manifest.ts";
import { loadConfig } from "../../../../src/config/load.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-files-"));
  mkdirSync(join(folder, "etc/types"), { recursive: true });
  mkdirSync(join(folder, "shared"));
  writeFileSync(join(folder, "etc/types/a.yaml"), "name: a.b\n");
  writeFileSync(join(folder, "etc/types/notes.txt"), "no event type");
  writeFileSync(join(folder, "shared/b.json"), '{"name":"b.c"}');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(yaml: string, env: Record<string, string> = {}) {
  writeFileSync(join(folder, "etc/gateway.yaml"), yaml);
  const input = { env, cwd: folder, file: "etc/gateway.yaml" };
  const { parts, ...rest } = readConfigurationFiles(loadConfig(input), input.file, folder);
  return { ...rest, texts: Object.fromEntries(parts.map(({ name, content }) => [name, String(content)])) };
}

describe("the configuration files of a backup", () => {
  it("are those beside the configuration file, with their variables as they stand there", () => {
    const yaml = "event_types_dir: types\nlog_level: ${LEVEL} # not $${THIS}\nuser_agent: ${AGENT:-Shop/1}\n";
    const env = { LEVEL: "warn", POSTHORN_PORT: "0", OTHER: "x" };
    expect(read(yaml, env)).toEqual({
      texts: { "config/posthorn.yaml": yaml, "config/types/a.yaml": "name: a.b\n" },
      variables: ["AGENT", "LEVEL", "POSTHORN_PORT"],
      needed_variables: ["LEVEL"],
      defaulted_variables: ["AGENT"],
      secretsInClear: [],
    });
  });

  it("have names that a restore takes, also where they were hidden", () => {
    mkdirSync(join(folder, "etc/.types"));
    writeFileSync(join(folder, "etc/.types/a.yaml"), "name: a.b\n");
    writeFileSync(join(folder, "etc/.types/.b.yaml"), "name: b.c\n");
    const { texts } = read("event_types_dir: .types\n");
    expect(Object.keys(texts)).toEqual(["config/posthorn.yaml", "elsewhere/event_types_dir/a.yaml"]);
    expect(Object.keys(texts).filter((name) => !isPartName(name))).toEqual([]);
  });

  it("keep a place of their own when they lay elsewhere", () => {
    const { texts } = read("event_types_dir: ../shared\n");
    expect(Object.keys(texts)).toEqual(["config/posthorn.yaml", "elsewhere/event_types_dir/b.json"]);
  });

  it("list the secrets that stand in them, and none that comes by the environment", () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const yaml = [
      "admin_key: an-admin-key-0123456789-0123456789",
      "master_key: ${MASTER}",
      "subscriptions:",
      `  - { name: a, url: "https://example.com/a", events: ["#"], secret: "${secret}" }`,
      '  - { name: b, url: "https://example.com/b", events: ["#"], secret: "${SECRET}" }',
    ].join("\n");
    const { secretsInClear, variables } = read(yaml, { MASTER: "m".repeat(40), SECRET: secret.replace("B", "C") });
    expect(secretsInClear).toEqual(["admin_key", "subscriptions[0].secret"]);
    expect(variables).toEqual(["MASTER", "SECRET"]);
  });

  it("are none where there is no file", () => {
    const { parts } = readConfigurationFiles(loadConfig({ env: {}, cwd: folder }), undefined, folder);
    expect(parts).toEqual([]);
  });
});
