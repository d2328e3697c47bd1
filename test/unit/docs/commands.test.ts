import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findCommandFault } from "../../support/docs/check-command.ts";
import { splitCommands } from "../../support/docs/command-line.ts";
import { listPages, readBlocks, withoutBlocks, type Page } from "../../support/docs/markdown.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};
/** What users see of old releases stays as it was written. */
const pages = listPages().filter(({ path }) => path !== "CHANGELOG.md");
const SHELLS = new Set(["", "sh", "bash", "console"]);
const LAUNCHERS = /^(?:posthorn|(?:\.\/)?bin\/posthorn\.js)$/;

interface Found {
  readonly page: string;
  readonly words: readonly string[];
  /** In a block to copy; in running text a command may lack its arguments. */
  readonly isWhole: boolean;
}

function listCommands({ path, text }: Page): Found[] {
  const blocks = readBlocks(text).filter(({ language }) => SHELLS.has(language));
  const inBlocks = blocks.flatMap((block) =>
    splitCommands(block.text.replaceAll(/^\$ /gm, "")).map((words) => ({ page: path, words, isWhole: true })),
  );
  const inline = [...withoutBlocks(text).matchAll(/`((?:posthorn|npm) [^`\n]+)`/g)].flatMap(([, code = ""]) =>
    // `a|b` and `[FILE]` say what may be written.
    /[|[\]]/.test(code) ? [] : splitCommands(code).map((words) => ({ page: path, words, isWhole: false })),
  );
  return [...inBlocks, ...inline];
}

/** `NAME=value posthorn …`, and `npm start -- --dev`, which is `posthorn start --dev`. */
function toPosthornWords(words: readonly string[]): readonly string[] | undefined {
  const [first = "", second = "", ...rest] = words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word)));
  if (LAUNCHERS.test(first)) return [second, ...rest].filter((word) => word !== "");
  if (first === "node" && LAUNCHERS.test(second)) return rest;
  return first === "npm" && second === "start" ? ["start", ...rest.filter((word) => word !== "--")] : undefined;
}

/** Where the output of one goes is no part of it. */
function untilRedirection(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => /^\d?[<>]/.test(word));
  return end < 0 ? words : words.slice(0, end);
}

const commands = pages.flatMap(listCommands);

describe("the commands in the pages", () => {
  it("are commands of Posthorn, with flags that it has", async () => {
    const faults: string[] = [];
    for (const { page, words, isWhole } of commands) {
      const own = toPosthornWords(words);
      if (own === undefined) continue;
      const fault = await findCommandFault(untilRedirection(own), isWhole);
      if (fault !== undefined) faults.push(`${page}: posthorn ${own.join(" ")}: ${fault}`);
    }
    expect(faults).toEqual([]);
  });

  it("are scripts of package.json", () => {
    const named = commands.filter(({ words: [npm, run] }) => npm === "npm" && run === "run");
    expect(named.length).toBeGreaterThan(10);
    const unknown = named.filter(({ words }) => !((words[2] ?? "") in scripts));
    expect(unknown.map(({ page, words }) => `${page}: ${words.join(" ")}`)).toEqual([]);
  });

  it("would be found to be wrong", async () => {
    const fault = (line: string) => findCommandFault(splitCommands(line)[0] ?? [], true);
    expect(await fault("events --type 'order.#' --since 2h")).toBeUndefined();
    expect(await fault("events --tipe order")).toContain("unknown option '--tipe'");
    expect(await fault("evnets")).toContain("unknown command 'evnets'");
    expect(await fault("events find")).toContain('Unknown command "events find"');
    expect(await fault("events show")).toContain("missing required argument");
    expect(splitCommands("a 'b c' \\\n  --d \"e\" # f\ng | h $(i j)")).toEqual([
      ["a", "b c", "--d", "e"],
      ["g"],
      ["i", "j"],
      ["h", "$()"],
    ]);
  });
});
