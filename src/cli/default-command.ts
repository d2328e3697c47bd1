import type { Command } from "commander";
import { suggestName } from "../model/nearest-name.ts";
import { usageFailure } from "./failure.ts";

/**
 * For the default command of a group: otherwise `posthorn events shwo` would be read as the
 * list with an extra argument. The command must allow excess arguments.
 */
export function refuseUnknownCommand(command: Command, group: Command): void {
  const [word] = command.args;
  if (word === undefined) return;
  const names = group.commands.map((one) => one.name());
  throw usageFailure(`Unknown command "${group.name()} ${word}"${suggestName(word, names)}.`.replace(/\?\.$/, "?"));
}
