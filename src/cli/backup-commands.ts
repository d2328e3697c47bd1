import type { Command } from "commander";
import type { BackupFlags } from "./backup.ts";
import type { RestoreFlags } from "./restore.ts";

/** The commands that back up and restore a gateway's data, on the gateway's machine. */

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
    .action(async (file: string | undefined, flags: BackupFlags) =>
      (await import("./backup.ts")).runBackup(file, flags),
    );
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
    .action(async (file: string, flags: RestoreFlags) => (await import("./restore.ts")).runRestore(file, flags));
}
