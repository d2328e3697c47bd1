import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { findTool } from "../../scripts/test-tools.mjs";
import { runCommand } from "../support/run-command.ts";
import { skipWithoutService } from "../support/skip.ts";

let cli: CommandLine;
let folder: string;

beforeAll(async () => {
  cli = await openCommandLine();
  folder = cli.path;
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await cli.run(["completion", shell]);
    await writeFile(join(folder, shell), stdout);
  }
});

afterAll(() => cli.remove());

function need(context: TestContext, shell: "fish" | "zsh"): void {
  if (findTool(shell) === undefined) skipWithoutService(context, shell);
}

/** What is offered after these words, the last of which is being written. */
async function completeInBash(...words: string[]): Promise<string[]> {
  const list = words.map((word) => `'${word}'`).join(" ");
  const script = `source ./bash; COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _posthorn; printf '%s\n' "\${COMPREPLY[@]}"`;
  const { exitCode, stdout, stderr } = await runCommand("bash", ["-c", script], folder);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout.split("\n").filter((word) => word !== "");
}

async function completeInFish(line: string): Promise<string[]> {
  const { stdout } = await runCommand("fish", ["-N", "-c", `source ./fish; complete -C '${line}'`], folder);
  return stdout.split("\n").map((each) => each.split("\t")[0] ?? "");
}

describe("completion", () => {
  it("offers commands, their flags, and what a flag may be, in bash", async () => {
    expect(await completeInBash("posthorn", "ev")).toEqual(["event-types", "events"]);
    expect(await completeInBash("posthorn", "events", "sh")).toEqual(["show"]);
    expect(await completeInBash("posthorn", "events", "--lim")).toEqual(["--limit"]);
    expect(await completeInBash("posthorn", "deliveries", "list", "--status", "de")).toEqual(["delivered", "dead"]);
    expect(await completeInBash("posthorn", "completion", "")).toContain("zsh");
  });

  it("offers the same in fish", async (context) => {
    need(context, "fish");
    expect(await completeInFish("posthorn events sh")).toEqual(["show", ""]);
    expect(await completeInFish("posthorn deliveries list --status de")).toEqual(
      expect.arrayContaining(["dead", "delivered"]),
    );
  });

  it("is a script that zsh understands, and loads", async (context) => {
    need(context, "zsh");
    const script = "autoload -U compinit; compinit -u -d dump; source ./zsh; print -r -- ${_comps[posthorn]}";
    const { exitCode, stdout, stderr } = await runCommand("zsh", ["-f", "-c", script], folder);
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: "_posthorn\n", stderr: "" });
  });
});
