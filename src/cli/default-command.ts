import type { Command } from "commander";
import { suggestName } from "../domain/nearest-name.ts";
import { usageFailure } from "./failure.ts";

/**
 * For the command that a group runs when it is asked nothing: `posthorn events shwo` would otherwise be taken for the
 * list with a word too many. The command must allow excess arguments.
 */
export function refuseUnknownCommand(command: Command, group: Command): void {
  const [word] = command.args;
  if (word === undefined) return;
  const names = group.commands.map((one) => one.name());
  throw usageFailure(`Unknown command "${group.name()} ${word}"${suggestName(word, names)}.`.replace(/\?\.$/, "?"));
}
