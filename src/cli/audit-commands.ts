import type { Command } from "commander";
import type { AuditFlags } from "./audit/list-audit.ts";
import { addClientOptions } from "./client-commands.ts";
import type { VerifyAuditFlags } from "./audit/verify-audit.ts";

export function addAudit(program: Command): void {
  addClientOptions(program.command("audit"))
    .description("list who changed what, latest first; or export the whole log")
    .option("--actor <actor>", "key:ID, config, gateway or local:USER")
    .option("--act <act>", "such as subscription.update")
    .option("--kind <kind>", "only changes of this kind of resource: subscription, source, key …")
    .option("--id <id>", "only changes of the resource with this id; needs --kind")
    .option("--tenant <tenant>", "only changes in this tenant")
    .option("--since <time>", "at this time or later (RFC 3339)")
    .option("--until <time>", "before this time (RFC 3339)")
    .option("--export", "print all entries as NDJSON, for verify-audit")
    .addHelpText(
      "after",
      `
Examples:
  posthorn audit --kind subscription --since 2026-11-16T00:00:00Z
  posthorn audit --actor gateway
  posthorn audit --export > audit.ndjson`,
    )
    .action(async (flags: AuditFlags) => (await import("./audit/list-audit.ts")).runAudit(flags));
}

/** As all lists have them. */
export async function fillAudit(command: Command): Promise<void> {
  const { PAGE } = await import("./resources/list.ts");
  for (const option of PAGE.flatMap(({ options }) => options)) command.addOption(option);
}

export function addVerifyAudit(program: Command): void {
  program
    .command("verify-audit [file]")
    .description("check the audit log of the data folder, or an exported one, without a gateway")
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
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
    .action(async (file: string | undefined, flags: VerifyAuditFlags) =>
      (await import("./audit/verify-audit.ts")).runVerifyAudit(file, flags),
    );
}
