import type { Command, Option } from "commander";

/** The completions of one command. */
export interface CommandNode {
  /** `posthorn events list`. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly flags: readonly FlagWord[];
  /** The choices for its last argument. */
  readonly values: readonly string[];
}

export interface Word {
  readonly word: string;
  readonly help: string;
}

export interface FlagWord extends Word {
  /** The choices for the flag's value; empty when it takes any value, or none. */
  readonly values: readonly string[];
}

/** A command and all its subcommands. */
export function listNodes(command: Command, parent = ""): readonly CommandNode[] {
  const path = `${parent} ${command.name()}`.trim();
  // A group without a subcommand runs its list, so it accepts the flags of the list.
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
