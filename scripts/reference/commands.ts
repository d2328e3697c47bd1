import type { Command, Option } from "commander";
import { createProgram, fillCommands } from "../../src/cli/program.ts";
import { generatedFrom } from "./generated-from.ts";

/** Flags of every command that talks to a gateway; listed once, at the top of the page. */
const EVERYWHERE = ["--url", "--key", "--json"];

/** One of them, with the usual words for these flags. */
const USUAL_CLIENT = "status";

/** docs/reference/commands.md, from the commands themselves. */
export async function renderCommands(): Promise<string> {
  const program = createProgram();
  await fillCommands(program);
  const client = listCommands(program).find((command) => command.name() === USUAL_CLIENT);
  const shared = (client?.options ?? []).filter(({ long }) => EVERYWHERE.includes(long ?? ""));
  return [
    "# Commands and flags",
    "",
    generatedFrom("src/cli/"),
    "",
    "Every command with every flag, as `posthorn COMMAND --help` prints them. [The command line](cli.md) explains how",
    "the commands are used.",
    "",
    "Commands that talk to a gateway also take these flags:",
    "",
    ...renderFlags(shared),
    "",
    ...program.commands.flatMap((command) => renderCommand(command, "posthorn", "##")),
  ].join("\n");
}

function listCommands(command: Command): readonly Command[] {
  return command.commands.flatMap((one) => [one, ...listCommands(one)]);
}

function renderCommand(command: Command, parent: string, heading: string): string[] {
  const path = `${parent} ${command.name()}`;
  const takes = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  const isClient = EVERYWHERE.every((flag) => hasFlag(command, flag));
  const flags = command.options.filter(({ hidden, long }) => !hidden && !(isClient && EVERYWHERE.includes(long ?? "")));
  const line = [path, ...takes, ...(command.commands.length > 0 ? ["<command>"] : [])].join(" ");
  return [
    `${heading} ${path.replace("posthorn ", "")}`,
    "",
    `\`${line}\`: ${command.description()}.`,
    "",
    ...(flags.length === 0 ? [] : [...renderFlags(flags), ""]),
    ...command.commands.flatMap((one) => renderCommand(one, path, "###")),
  ];
}

function renderFlags(flags: readonly Option[]): string[] {
  const rows = flags.map(({ flags: name, description, defaultValue, argChoices }) => {
    const choices = argChoices === undefined ? "" : ` (${argChoices.join(", ")})`;
    const usual = isShown(defaultValue) ? `; default \`${String(defaultValue)}\`` : "";
    return `| \`${name.replaceAll("|", "\\|")}\` | ${`${description}${choices}${usual}`.replaceAll("|", "\\|")} |`;
  });
  return ["| flag | meaning |", "|---|---|", ...rows];
}

function isShown(value: unknown): boolean {
  return (typeof value === "string" || typeof value === "number") && value !== "";
}

function hasFlag(command: Command, flag: string): boolean {
  return command.options.some(({ long }) => long === flag);
}
