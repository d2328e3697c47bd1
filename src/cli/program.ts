import { Command, CommanderError } from "commander";
import { VERSION } from "../config/version.ts";
import { escapeLines } from "../telemetry/terminal-text.ts";
import { COMMANDS } from "./commands.ts";
import { describeFailure, EXIT_USAGE, findExitCode } from "./failure.ts";
import { note } from "./output.ts";

/** Resolves to the exit code. What a command needs is imported when it runs: help and usage errors are instant. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  try {
    const program = createProgram();
    await fillGroup(program, args);
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    note(describeFailure(error));
    return findExitCode(error);
  }
}

/** `posthorn events …`, and `posthorn help events` too. */
async function fillGroup(program: Command, args: readonly string[]): Promise<void> {
  const [name, next] = args.filter((word) => !word.startsWith("-"));
  const asked = name === "help" ? next : name;
  const group = program.commands.find((command) => command.name() === asked);
  if (group !== undefined) await COMMANDS.find((command) => command.name === asked)?.fill?.(group);
}

function createProgram(): Command {
  const program = new Command("posthorn")
    .description(
      "A webhook gateway: takes webhooks in, keeps each one durably, delivers it to everyone who asked for it.",
    )
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    // Inherited by every command that is added below.
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(escapeLines(text.replace(/^error: /, "posthorn: "))) })
    .showHelpAfterError("See `posthorn --help`.")
    .addHelpText(
      "after",
      `
Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 configuration.

Examples:
  posthorn start
  posthorn sink --port 9000
  posthorn send order.created --data '{"id": 7}'
  posthorn deliveries --status dead`,
    );
  for (const command of COMMANDS) command.add(program);
  return program;
}
