import { Argument, type Command } from "commander";
import { VERSION } from "../config/version.ts";
import { suggestName } from "../model/nearest-name.ts";
import { usageFailure } from "./failure.ts";
import { printFacts, printJson } from "./output.ts";

export function addStart(program: Command): void {
  program
    .command("start")
    .description("run the gateway until SIGTERM or Ctrl+C; SIGHUP reloads the configuration")
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("-p, --port <number>", "port to listen on; 0 takes any free port")
    .option("--host <address>", "address to listen on")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
    .option("--log-level <level>", "fatal, error, warn, info, debug or trace")
    .option("--dev", "for trying it out: allows destinations on this machine and without TLS")
    .option("--role <role>", "the role of this process; only `all` exists so far")
    .option("--json", "log JSON on a terminal too")
    .addHelpText(
      "after",
      `
The first start creates an admin key: on a terminal it is shown once, otherwise it is written to
admin.key in the data folder. Every setting can also be an environment variable: see \`posthorn config show\`.

Examples:
  posthorn start
  posthorn start --port 9090 --data-dir /var/lib/posthorn
  posthorn start --dev`,
    )
    .action(later(async () => (await import("./start.ts")).runStart));
}

export function addSink(program: Command): void {
  program
    .command("sink")
    .description("run a local receiver that prints each request")
    .option("-p, --port <number>", "port to listen on, on 127.0.0.1 only; 0 takes any free port", "9000")
    .option("--status <code>", "status to answer with", "200")
    .option("--delay <ms>", "wait this long before each answer", "0")
    .option("--fail-first <count>", "answer this many requests with 503 first", "0")
    .option("--secret <secret>", "check the signatures with this secret")
    .option("--signature-header <name>", "header of the plain HMAC signature", "X-Webhook-Signature")
    .option("--json", "print one JSON document per request")
    .addHelpText(
      "after",
      `
A gateway that was started with \`posthorn start --dev\` delivers to it.

Examples:
  posthorn sink
  posthorn sink --port 9001 --fail-first 3 --secret whsec_…`,
    )
    .action(later(async () => (await import("./sink.ts")).runSink));
}

export function addConfig(program: Command): void {
  const config = program.command("config").description("show the configuration");
  const show = addLocalOptions(config.command("show", { isDefault: true }))
    .description("print the effective settings and where each came from, with secrets masked")
    .option("--json", "print JSON")
    .action(later(async () => (await import("./local.ts")).runShowConfig));
  rejectUnknownCommand(show, config);
}

export function addDoctor(program: Command): void {
  addLocalOptions(program.command("doctor"))
    .description("check this machine, the configuration, the store, brokers, destinations and the gateway")
    .option("--json", "print JSON")
    .option("--url <url>", "address of the gateway (default: POSTHORN_URL, else the configured one)")
    .option("--key <key>", "API key, for the checks of a gateway on another machine that need one")
    .addHelpText(
      "after",
      `
One line for each check: ok, warning or problem, and what to do. Exit code 1 when there is a problem.
It may run while the gateway runs, and changes nothing; to time an fsync it writes a small file into the
data folder and removes it. For a gateway on another machine (--url) it checks what the gateway reports.

Examples:
  posthorn doctor
  posthorn doctor --url https://hooks.example.com`,
    )
    .action(later(async () => (await import("./doctor/run-doctor.ts")).runDoctor));
}

export function addSelftest(program: Command): void {
  addTrialOptions(program.command("selftest"), "20")
    .description("kill a gateway under load on your disk, and account for every event")
    .addHelpText(
      "after",
      `
Starts a separate gateway in a temporary folder, sends webhooks, kills it with SIGKILL again and
again, and compares what was acknowledged with what is stored and delivered. Exit code 1 when
anything is missing or changed. Your own gateway is not touched, and the folder is removed afterwards.

Examples:
  posthorn selftest
  posthorn selftest --dir /var/lib --seconds 60`,
    )
    .action(later(async () => (await import("./trial/selftest.ts")).runSelftest));
}

export function addBench(program: Command): void {
  addTrialOptions(program.command("bench"), "10")
    .description("measure how many events this machine receives and delivers")
    .addHelpText(
      "after",
      `
Starts a separate gateway in a temporary folder and sends it load over loopback. Never use it to
compare releases on a busy machine: the ratio to a bare Node server is steadier than the rates.

Examples:
  posthorn bench
  posthorn bench --dir /var/lib --seconds 30 --json`,
    )
    .action(later(async () => (await import("./trial/run-bench.ts")).runBench));
}

function addTrialOptions(command: Command, seconds: string): Command {
  return command
    .option("--dir <folder>", "where to create the temporary folder: on the disk to test", ".")
    .option("--seconds <count>", "about how long to run", seconds)
    .option("--json", "print JSON");
}

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands and flags in your shell")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
Examples:
  posthorn completion bash > ~/.local/share/bash-completion/completions/posthorn
  posthorn completion zsh > "\${fpath[1]}/_posthorn"
  posthorn completion fish > ~/.config/fish/completions/posthorn.fish`,
    )
    .action(later(async () => (await import("./completion.ts")).printCompletion));
}

export function addVersion(program: Command): void {
  program
    .command("version")
    .description("print the versions of Posthorn and Node.js")
    .option("--json", "print JSON")
    .action(printVersion);
}

export function addBackup(program: Command): void {
  addLocalOptions(program.command("backup [file]"))
    .description("write configuration and data into one file; the gateway may be running")
    .option("--with-events", "include the event log: events, deliveries, attempts")
    .option("--with-master-key", "include the key that encrypts the secrets; protect the file like the key itself")
    .option("--force", "replace the file if it exists")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Without a file name, writes posthorn-backup-TIME.tar.gz into this folder. Secrets stay encrypted.

Examples:
  posthorn backup
  posthorn backup /mnt/backup/posthorn.tar.gz --with-events --force
  posthorn backup move.tar.gz --with-events --with-master-key`,
    )
    .action(later(async () => (await import("./backup.ts")).runBackup));
}

export function addRestore(program: Command): void {
  program
    .command("restore <file>")
    .description("check a backup, and restore its data and configuration")
    .option(
      "--data-dir <folder>",
      "where the data goes (default: the data dir of the configuration in this folder, or ./data)",
    )
    .option("--config-dir <folder>", "where posthorn.yaml and the files beside it go", ".")
    .option("--no-config", "restore only the data")
    .option("--dry-run", "check everything without changing anything")
    .option("--force", "rename existing data and files to …bak-TIME and restore")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Fails while a gateway runs on the data folder. Deletes nothing.

Examples:
  posthorn restore posthorn-backup-20260101T000000Z.tar.gz --dry-run
  posthorn restore move.tar.gz --data-dir /var/lib/posthorn --config-dir /etc/posthorn`,
    )
    .action(later(async () => (await import("./restore.ts")).runRestore));
}

function printVersion({ json = false }: { json?: boolean }): void {
  const { version: node, platform, arch } = process;
  if (json) return printJson({ posthorn: VERSION, node, platform, arch });
  printFacts([
    ["posthorn", VERSION],
    ["node", `${node} on ${platform} ${arch}`],
  ]);
}

export function addVerifyAudit(program: Command): void {
  addLocalOptions(program.command("verify-audit [file]"))
    .description("check the audit log of the data folder, or an exported one, without a gateway")
    .option("--public-key <key>", "check the signature with this key instead of the master key")
    .option("--anchor <seq:hash...>", "an entry that must be in the log, written SEQ:HASH as the gateway logs it")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code 1 when an entry was changed, removed, moved or added; the first such entry is reported.

Examples:
  posthorn verify-audit --data-dir /var/lib/posthorn
  posthorn verify-audit audit.ndjson --public-key pka_…`,
    )
    .action(later(async () => (await import("./verify-audit.ts")).runVerifyAudit));
}

export function addQueueCommands(program: Command): void {
  const queue = program.command("queue").description("broker queues: create them, check them, see parked messages");
  for (const [name, description] of [
    ["declare", "create the exchanges and queues of the configuration that are missing"],
    ["check", "compare the broker with the configuration, without changing anything"],
  ] as const) {
    const command = queue
      .command(name, { isDefault: name === "check" })
      .description(description)
      .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
      .option("--kind <kind>", "with --queue: amqp, azure-service-bus or azure-storage-queue")
      .option("--queue <name>", "only this queue; for one of a source or subscription that was created by API")
      .option("--connection <name>", "with --queue: the connection to its broker (default: default)")
      .option("--sessions", "with --queue: it has sessions (azure-service-bus)")
      .option("--json", "print JSON")
      .action(async (flags: object) => (await import("./queue/provision.ts")).runProvision(name, flags));
    if (name === "check") rejectUnknownCommand(command, queue);
  }
  addParked(queue);
  queue.addHelpText(
    "after",
    `
Without a command, runs \`check\`. \`declare\` and \`check\` need no running gateway; \`parked\` does.

Examples:
  posthorn queue declare
  posthorn queue check --json
  posthorn queue declare --kind azure-storage-queue --queue webhooks
  posthorn queue parked erp --reason invalid
  posthorn queue parked requeue erp --reason dead
  posthorn queue parked purge erp --confirm 12`,
  );
}

function addParked(queue: Command): void {
  const parked = queue.command("parked").description("messages of a source that could not be processed, and why");
  const selecting = (command: Command) =>
    addClientOptions(command).option("--reason <reason>", "only messages that were parked for this reason");
  const choosing = (command: Command) =>
    selecting(command).option("--id <id...>", "only these messages, by the id in the list");
  selecting(parked.command("list <source>", { isDefault: true }))
    .description("list parked messages, oldest first")
    .option("--limit <number>", "at most this many, up to 500", "50")
    .option("--cursor <cursor>", "continue where the page before ended")
    .action(later(async () => (await import("./queue/parked.ts")).runListParked));
  addClientOptions(parked.command("show <source> <id>"))
    .description("show a parked message with its body")
    .action(later(async () => (await import("./queue/parked.ts")).runShowParked));
  choosing(parked.command("requeue <source>"))
    .description("put parked messages back into their queue: all, or those that match")
    .action(later(async () => (await import("./queue/parked.ts")).runRequeueParked));
  choosing(parked.command("purge <source>"))
    .description("delete them for good: all, or those that match")
    .option("--confirm <count>", "how many messages there are, as reported without this flag")
    .action(later(async () => (await import("./queue/parked.ts")).runPurgeParked));
}

/** The options with which a command finds the data of this machine's gateway. */
function addLocalOptions(command: Command): Command {
  return command
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "folder of the database and of generated keys");
}

/** The action of a command. Its module is loaded when it runs, and gets the arguments and the flags. */
function later<Given extends unknown[]>(load: () => Promise<(...given: Given) => unknown>) {
  return async (...given: Given): Promise<void> => {
    const run = await load();
    await run(...given);
  };
}

/** Flags of every command that talks to a running gateway. */
export function addClientOptions(command: Command): Command {
  return command
    .option("--url <url>", "address of the gateway (default: POSTHORN_URL, else the gateway configured in this folder)")
    .option("--key <key>", "API key (default: POSTHORN_API_KEY, else the local gateway's admin key)")
    .option("--json", "print JSON");
}

/** For the default command of a group: `posthorn events shwo` is not the list with an extra argument. */
export function rejectUnknownCommand(command: Command, group: Command): void {
  command.allowExcessArguments().hook("preAction", () => {
    const [word] = command.args;
    if (word === undefined) return;
    const names = group.commands.map((one) => one.name());
    throw usageFailure(`Unknown command "${group.name()} ${word}"${suggestName(word, names)}.`.replace(/\?\.$/, "?"));
  });
}
