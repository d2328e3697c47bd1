import { Argument, type Command } from "commander";
import { VERSION } from "../config/version.ts";
import { later, rejectUnknownCommand } from "./client-commands.ts";
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
    .action(later(async () => (await import("./local.ts")).runShowConfig));
  rejectUnknownCommand(show, config);
}

export function addDoctor(program: Command): void {
  addLocalOptions(program.command("doctor"))
    .description("check this machine, the configuration, the store, brokers, destinations and the gateway")
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

function addLocalOptions(command: Command): Command {
  return command
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
    .option("--json", "print JSON");
}

export function addBackup(program: Command): void {
  program
    .command("backup [file]")
    .description("write configuration and data into one file; the gateway may be running")
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
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
