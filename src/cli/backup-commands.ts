import type { Command } from "commander";
import type { BackupFlags } from "./backup.ts";
import type { RestoreFlags } from "./restore.ts";

/** The commands that keep a copy of a gateway's data, on the machine where they lie. */

export function addBackup(program: Command): void {
  program
    .command("backup [file]")
    .description("write configuration and data into one file, while the gateway runs or not")
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
    .option("--with-events", "the event log too: events, deliveries, attempts")
    .option(
      "--with-master-key",
      "the key that the secrets are encrypted with too; keep such a file like the key itself",
    )
    .option("--force", "replace the file if it exists")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Without a file it is posthorn-backup-TIME.tar.gz in this folder. Secrets stay encrypted.

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
    .description("check a backup, and put its data and configuration into their places")
    .option("--data-dir <folder>", "where the data goes (default: that of the configuration here, or ./data)")
    .option("--config-dir <folder>", "where posthorn.yaml and the files beside it go", ".")
    .option("--no-config", "restore the data alone")
    .option("--dry-run", "check everything and change nothing")
    .option("--force", "keep data and files that are there aside, as …bak-TIME")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Refused while a gateway runs on the data folder. Nothing is ever deleted.

Examples:
  posthorn restore posthorn-backup-20260101T000000Z.tar.gz --dry-run
  posthorn restore move.tar.gz --data-dir /var/lib/posthorn --config-dir /etc/posthorn`,
    )
    .action(async (file: string, flags: RestoreFlags) => (await import("./restore.ts")).runRestore(file, flags));
}
