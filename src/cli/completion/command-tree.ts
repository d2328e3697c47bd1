import type { Command, Option } from "commander";

/** What can be written after a command. */
export interface CommandNode {
  /** `posthorn events list`. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly flags: readonly FlagWord[];
  /** What its last argument may be. */
  readonly values: readonly string[];
}

export interface Word {
  readonly word: string;
  readonly help: string;
}

export interface FlagWord extends Word {
  /** What may follow it; empty where that is anything, or nothing. */
  readonly values: readonly string[];
}

/** The command and all below it. */
export function listNodes(command: Command, parent = ""): readonly CommandNode[] {
  const path = `${parent} ${command.name()}`.trim();
  // A group that lists without a command takes the flags of its list.
  const usual = command.commands.find((one) => one.name() === "list");
  const flags = [...command.options, ...(usual?.options ?? [])].filter(({ hidden }) => !hidden).flatMap(toFlagWords);
  const node = {
    path,
    commands: command.commands.map((one) => ({ word: one.name(), help: one.description() })),
    flags,
    values: command.registeredArguments.at(-1)?.argChoices ?? [],
  };
  return [node, ...command.commands.flatMap((one) => listNodes(one, path))];
}

function toFlagWords({ long, short, description, argChoices = [] }: Option): FlagWord[] {
  return [long, short].flatMap((word) => (word ? [{ word, help: description, values: argChoices }] : []));
}
