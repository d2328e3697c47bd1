import { Command, CommanderError, Help } from "commander";
import { withEnvFile } from "../config/environment.ts";
import { VERSION } from "../config/version.ts";
import { COMMAND_GROUPS, COMMANDS } from "./commands.ts";
import { CommandFailure, describeFailure, EXIT_USAGE, findExitCode, ReportedFailure } from "./failure.ts";
import { note } from "./output.ts";
import { getProcess, getSurroundings, runAlone, runIn, type Output, type Surroundings } from "./surroundings.ts";
import { DEFAULT_WIDTH, findTerminal, MIN_WIDTH, reflow } from "./terminal.ts";

const ENV_FILE = "--env-file";
const HELP_COMMAND = ["help [command]", "print the help of a command"] as const;

/** Resolves to the exit code. Each command imports its modules when it runs, so help and usage errors are instant. */
export function runCommandLine(words: readonly string[], given?: Omit<Surroundings, "asked">): Promise<number> {
  const surroundings: Surroundings = { ...(given ?? getProcess()), asked: {} };
  const run = given === undefined ? runAlone : runIn;
  return run(surroundings, () => {
    try {
      const { args, isPlain, envFile } = takeFlags(words);
      const { env, file } = withEnvFile(surroundings.env, surroundings.cwd, envFile);
      const shown = isPlain ? { ...env, NO_COLOR: "1" } : env;
      return run({ ...surroundings, env: shown, envFile: file }, () => runArguments(args));
    } catch (error) {
      note(describeFailure(error));
      return Promise.resolve(findExitCode(error));
    }
  });
}

/** Flags that may stand anywhere, with any command. */
function takeFlags(words: readonly string[]): { args: string[]; isPlain: boolean; envFile: string | undefined } {
  const args = words.filter((word) => word !== "--no-color");
  const isPlain = args.length < words.length;
  const at = args.findIndex((word) => word === ENV_FILE || word.startsWith(`${ENV_FILE}=`));
  if (at === -1) return { args, isPlain, envFile: undefined };
  const isOneWord = args[at] !== ENV_FILE;
  const [flag = "", next] = args.splice(at, isOneWord ? 1 : 2);
  const envFile = isOneWord ? flag.slice(ENV_FILE.length + 1) : next;
  if (envFile === undefined || envFile === "")
    throw new CommandFailure(`${ENV_FILE} needs the name of a file.`, EXIT_USAGE);
  return { args, isPlain, envFile };
}

async function runArguments(args: readonly string[]): Promise<number> {
  let complaint = "";
  const program = createProgram((text) => (complaint = text));
  try {
    await fillNamed(program, args);
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof ReportedFailure) return error.exitCode;
    const isParsing = error instanceof CommanderError;
    if (isParsing && error.exitCode === 0) return 0;
    // A group without a list was named alone: its help has just been printed, and nothing was wrong.
    if (isParsing && error.code === "commander.help") return EXIT_USAGE;
    const exitCode = isParsing ? EXIT_USAGE : findExitCode(error);
    const message = isParsing ? toSentence(complaint, findCommand(program, args)) : await explain(error);
    note(exitCode === EXIT_USAGE ? `${message} See \`${commandLineOf(findCommand(program, args))} --help\`.` : message);
    return exitCode;
  }
}

/** An answer that no command understands is either a bug, or not from a gateway. */
async function explain(error: unknown): Promise<string> {
  const { client } = getSurroundings().asked;
  if (!(error instanceof TypeError) || client === undefined) return describeFailure(error);
  const { explainNoGateway, findVersion } = await import("./api-client.ts");
  return describeFailure((await findVersion(client.url)) === undefined ? explainNoGateway(client.url) : error);
}

/** Commander's text is `error: missing required argument 'id'`, sometimes with a suggestion in a second line. */
function toSentence(complaint: string, command: Command): string {
  const [message = "", similar = ""] = complaint
    .trim()
    .replace(/^error: /, "")
    .split("\n");
  const hint = similar || suggestLonger(message, command);
  return [`${message.replace(/\.$/, "")}.`, hint.replace(/^\(|\)$/g, "")].filter((part) => part !== "").join(" ");
}

/** Commander suggests flags with few other letters, but not `--secret-file` for `--secret`. */
function suggestLonger(message: string, command: Command): string {
  const [, given] = /^unknown option '(--[\w-]+)'/.exec(message) ?? [];
  if (given === undefined) return "";
  const longer = command.options.flatMap(({ long }) => (long?.startsWith(`${given}-`) === true ? long : []));
  return longer.length === 0 ? "" : `(Did you mean ${longer.join(" or ")}?)`;
}

function findCommand(program: Command, args: readonly string[]): Command {
  let command = program;
  for (const word of args) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) break;
    command = next;
  }
  return command;
}

function commandLineOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${commandLineOf(parent)} ${command.name()}`;
}

/** For `posthorn events …`, and `posthorn help events` too. */
async function fillNamed(program: Command, args: readonly string[]): Promise<void> {
  const [first, next] = args.filter((word) => !word.startsWith("-"));
  const name = first === "help" ? next : first;
  if (name !== undefined) await fillCommands(program, name);
}

/** Adds what is added late: to all commands, or to the one of this name. */
export async function fillCommands(program: Command, only?: string): Promise<void> {
  for (const { name, fill } of COMMANDS) {
    const command = program.commands.find((one) => one.name() === name);
    if (command !== undefined && name === (only ?? name)) await fill?.(command);
  }
}

export function createProgram(complain: (text: string) => void = () => undefined): Command {
  const { stdout, stderr } = getSurroundings();
  const widthOf = (stream: Output) => findTerminal(stream).width ?? DEFAULT_WIDTH;
  const usual = new Help();
  const program: Command = new Command("posthorn")
    .description("A webhook gateway: receives webhooks, stores each one durably, and delivers it to every subscriber.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(...HELP_COMMAND)
    .configureHelp({
      minWidthToWrap: MIN_WIDTH / 2,
      // A long list is read by its names; what each takes is in its own help.
      subcommandTerm: (command) => (command.parent === program ? command.name() : usual.subcommandTerm(command)),
    })
    .exitOverride()
    .configureOutput({
      outputError: complain,
      writeOut: (text) => stdout.write(reflow(text, widthOf(stdout))),
      writeErr: (text) => stderr.write(reflow(text, widthOf(stderr))),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
    })
    .addHelpText(
      "after",
      `
Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 configuration.
Colours are shown only on a terminal; --no-color, or the variable NO_COLOR, switches them off.
Variables may also stand in a file: .env in this folder, or the one that --env-file names. Those that are set win.

Examples:
  posthorn start
  posthorn sink --port 9000
  posthorn send order.created --data '{"id": 7}'
  posthorn deliveries --status dead`,
    );
  for (const [heading, commands] of Object.entries(COMMAND_GROUPS)) {
    program.commandsGroup(heading);
    for (const command of commands) command.add(program);
  }
  // Once more, so that it stands below the last heading.
  return program.helpCommand(...HELP_COMMAND);
}
