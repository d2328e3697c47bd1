import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../../src/config/load.ts";
import { Settings } from "../../../src/config/schema.ts";
import { listPages, readBlocks } from "../../support/docs/markdown.ts";
import { runCommand } from "../../support/run-command.ts";
import { useFolder } from "../../support/store-folder.ts";

const blocks = listPages().flatMap(({ path, text }) =>
  readBlocks(text).map((block) => ({ ...block, place: `${path}:${block.line}` })),
);
const inLanguage = (...names: readonly string[]) => blocks.filter(({ language }) => names.includes(language));

/** Variables that must look like something; all others are secrets. */
const VARIABLES: Readonly<Record<string, string>> = {
  RABBITMQ_URL: "amqp://guest:guest@127.0.0.1:5672/",
  SMTP_URL: "smtps://user:password@mail.example.com:465",
  N8N_URL: "https://automation.example",
  AZURE_STORAGE_CONNECTION_STRING: "DefaultEndpointsProtocol=https;AccountName=example;AccountKey=ZXhhbXBsZQ==",
};
const SECRET = "0123456789abcdef0123456789abcdef";

/** yaml of other programs. */
const FOREIGN = [/^openapi:/m, /^groups:/m, /^tunnel:/m, /^services:/m, /^image:/m];

function variablesOf(yaml: string): Record<string, string> {
  const names = [...yaml.matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name = ""]) => name);
  return Object.fromEntries(names.map((name, index) => [name, VARIABLES[name] ?? `${SECRET}${index}`]));
}

function findFault(place: string, read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    return [`${place}: ${(error as Error).message}`];
  }
}

describe("the blocks of code in the pages", () => {
  const folder = useFolder();

  it("are JSON where they say so", () => {
    const json = inLanguage("json");
    expect(json.length).toBeGreaterThan(10);
    expect(json.flatMap(({ place, text }) => findFault(place, () => JSON.parse(text) as unknown))).toEqual([]);
    expect(findFault("page", () => JSON.parse("{…}") as unknown)).toEqual([expect.stringContaining("page: ")]);
  });

  it("are configurations that the gateway takes, where they are yaml", () => {
    const yaml = inLanguage("yaml").filter(({ text }) => !FOREIGN.some((sign) => sign.test(text)));
    expect(yaml.length).toBeGreaterThan(20);
    for (const { place, text } of yaml) {
      const keys = Object.keys(parse(text) as object);
      expect([place, keys.filter((key) => !(key in Settings.properties))]).toEqual([place, []]);
      const file = join(folder.path, "posthorn.yaml");
      writeFileSync(file, text);
      const env = variablesOf(text);
      expect(findFault(place, () => loadConfig({ env, cwd: folder.path, file }))).toEqual([]);
    }
  });

  it("can be read by a shell, where they are meant for one", async () => {
    for (const { place, text } of inLanguage("sh", "bash")) {
      const { exitCode, stderr } = await runCommand("bash", ["-n", "-c", text], folder.path);
      expect([place, exitCode, stderr]).toEqual([place, 0, ""]);
    }
  });
});
