import { COMMANDS } from "../commands.ts";
import { createProgram } from "../program.ts";
import { getSurroundings } from "../surroundings.ts";
import { writeBash } from "./bash.ts";
import { listNodes } from "./command-tree.ts";
import { writeFish } from "./fish.ts";
import { writeZsh } from "./zsh.ts";

const WRITERS = { bash: writeBash, zsh: writeZsh, fish: writeFish };
export type Shell = keyof typeof WRITERS;

/** Generated from the commands themselves, so that nothing is listed twice. */
export async function printCompletion(shell: Shell): Promise<void> {
  const program = createProgram();
  for (const { name, fill } of COMMANDS) {
    const group = program.commands.find((command) => command.name() === name);
    if (group !== undefined) await fill?.(group);
  }
  getSurroundings().stdout.write(WRITERS[shell](listNodes(program)));
}
