import { Command, CommanderError } from "commander";
import { VERSION } from "../config/version.ts";
import { PLUGINS } from "../plugins/plugins.ts";
import { escapeLines } from "../telemetry/terminal-text.ts";
import { addBackupCommands } from "./backup-commands.ts";
import { addClientCommands, addClientOptions } from "./client-commands.ts";
import { describeFailure, EXIT_USAGE, findExitCode } from "./failure.ts";
import { addKeyCommands } from "./key-commands.ts";
import { note } from "./output.ts";
import type { SinkFlags } from "./sink.ts";
import { addSourceCommands } from "./source-commands.ts";
import { addSubscriptionCommands } from "./subscription-commands.ts";
import { addReplayCommands } from "./replay-commands.ts";
import { addTargetCommands } from "./target-commands.ts";
import { addTenantCommands } from "./tenant-commands.ts";
import { addValidationCommands } from "./validation-commands.ts";

/** Resolves to the exit code. What a command needs is imported when it runs: help and usage errors are instant. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    note(describeFailure(error));
    return findExitCode(error);
  }
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
  addGatewayCommands(program);
  addClientCommands(program);
  addSubscriptionCommands(program);
  addSourceCommands(program);
  addReplayCommands(program);
  addTargetCommands(program);
  addTenantCommands(program);
  for (const plugin of PLUGINS) plugin.addCommands(program, { addClientOptions });
  addKeyCommands(program);
  addBackupCommands(program);
  addValidationCommands(program);
  return program;
}

function addGatewayCommands(program: Command): void {
  program
    .command("start")
    .description("run the gateway until SIGTERM or Ctrl+C; SIGHUP reloads the configuration")
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("-p, --port <number>", "port to listen on; 0 takes any free one")
    .option("--host <address>", "address to listen on")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
    .option("--log-level <level>", "fatal, error, warn, info, debug or trace")
    .option("--role <role>", "what this process does; all is the only one")
    .option("--json", "log JSON on a terminal too")
    .addHelpText(
      "after",
      `
The first start makes an admin key: on a terminal it is shown once, otherwise it is written to
admin.key in the data folder. Every setting also has a name in the environment: \`posthorn config show\`.

Examples:
  posthorn start
  posthorn start --port 9090 --data-dir /var/lib/posthorn
  POSTHORN_ALLOW_HTTP_DESTINATIONS=true POSTHORN_ALLOW_PRIVATE_DESTINATIONS=127.0.0.0/8 posthorn start`,
    )
    .action(async (flags: object) => (await import("./start.ts")).runStart(flags));

  program
    .command("sink")
    .description("a local receiver that prints what arrives")
    .option("-p, --port <number>", "port to listen on, on 127.0.0.1 only; 0 takes any free one", "9000")
    .option("--status <code>", "status to answer with", "200")
    .option("--delay <ms>", "wait this long before each answer", "0")
    .option("--fail-first <count>", "answer the first requests with 503", "0")
    .option("--secret <secret>", "check the signatures with this secret")
    .option("--signature-header <name>", "header of the plain signature", "X-Webhook-Signature")
    .option("--json", "print one JSON document per request")
    .addHelpText(
      "after",
      `
A gateway delivers to it when it may: start it with POSTHORN_ALLOW_HTTP_DESTINATIONS=true and
POSTHORN_ALLOW_PRIVATE_DESTINATIONS=127.0.0.0/8.

Examples:
  posthorn sink
  posthorn sink --port 9001 --fail-first 3 --secret whsec_…`,
    )
    .action(async (flags: SinkFlags) => (await import("./sink.ts")).runSink(flags));

  const config = program.command("config").description("the configuration");
  addLocalOptions(config.command("show"))
    .description("print what is in force and where it came from, with secrets masked")
    .action(async (flags: object) => (await import("./show-config.ts")).runShowConfig(flags));

  addLocalOptions(program.command("doctor"))
    .description("check this machine, the configuration, the database and the gateway")
    .addHelpText("after", "\nChanges nothing, and may run beside the gateway. Exit code 1 when a check fails.")
    .action(async (flags: object) => (await import("./doctor.ts")).runDoctor(flags));
}

function addLocalOptions(command: Command): Command {
  return command
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
    .option("--json", "print JSON");
}
