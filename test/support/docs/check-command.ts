import { CommanderError, type Command } from "commander";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { CommandFailure } from "../../../src/cli/failure.ts";
import { createProgram } from "../../../src/cli/program.ts";

/** Only whether the words are a command: nothing is run. Undefined where they are. */
export async function findCommandFault(words: readonly string[], isWhole: boolean): Promise<string | undefined> {
  let said = "";
  const program = createProgram((text) => (said = text));
  for (const { name, fill } of COMMANDS) {
    const group = program.commands.find((command) => command.name() === name);
    if (group !== undefined && words.includes(group.name())) await fill?.(group);
  }
  disarm(program);
  try {
    await program.parseAsync(
      words.filter((word) => word !== "--no-color"),
      { from: "user" },
    );
  } catch (error) {
    if (error instanceof CommandFailure) return error.message;
    if (!(error instanceof CommanderError)) throw error;
    const isHelp = error.exitCode === 0 || error.code === "commander.help";
    const isUnfinished = error.code.startsWith("commander.missing");
    return isHelp || (isUnfinished && !isWhole) ? undefined : said.trim();
  }
  return undefined;
}

function disarm(command: Command): void {
  command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  // A group that has no action prints its help, which is an answer too.
  if (command.commands.length === 0) command.action(() => undefined);
  for (const one of command.commands) disarm(one);
}
