import { statSync } from "node:fs";
import type { Config } from "../../config/settings-tree.ts";
import { getDatabasePath } from "../../config/store-url.ts";
import { ageOf } from "../../model/retention.ts";
import { inspectDatabase, type Inspection } from "../../store/sqlite/inspect.ts";
import { countOf, formatBytes } from "../output.ts";
import type { Report } from "./findings.ts";

/** The write-ahead log is truncated to 64 MiB after each checkpoint; a much larger one is no longer checkpointed. */
const LARGE_LOG_BYTES = 1024 ** 3;

export function checkStore(config: Config, report: Report): Inspection | undefined {
  const file = getDatabasePath(config);
  let inspection: Inspection | undefined;
  try {
    inspection = inspectDatabase(file, ageOf(config.retention.days), Date.now());
    if (inspection === undefined) report("ok", `${file} does not exist yet; the first start creates it`);
  } catch (error) {
    report("problem", `${file} cannot be read: ${(error as Error).message}. Keep a copy, then restore a backup`);
  }
  if (inspection === undefined) return undefined;
  const { damages, version, journalMode, sizeBytes } = inspection;
  if (damages.length > 0) report("problem", `${file} is damaged: ${damages.join("; ")}. Restore a backup`);
  else report("ok", `${file} (${formatBytes(sizeBytes)}) is sound; SQLite ${version}, journal ${journalMode}`);
  checkSchema(inspection, report);
  checkLog(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0, report);
  const open = `${countOf(inspection.openDeliveries, "delivery is", "deliveries are")} open`;
  if (inspection.imbalance === 0) report("ok", `${open}; the counters agree with the rows`);
  else report("problem", `${open}; the counters differ from the rows by ${inspection.imbalance}. Report this as a bug`);
  return inspection;
}

function checkSchema({ schemaVersion, knownSchemaVersion }: Inspection, report: Report): void {
  if (schemaVersion > knownSchemaVersion) {
    const detail = `schema ${schemaVersion} is newer than schema ${knownSchemaVersion} of this release`;
    return report("problem", `${detail}. Use the release that wrote it, or a later one`);
  }
  const next = schemaVersion < knownSchemaVersion ? `; the next start upgrades it to ${knownSchemaVersion}` : "";
  report("ok", `schema ${schemaVersion}${next}`);
}

export function checkLog(bytes: number, report: Report): void {
  if (bytes < LARGE_LOG_BYTES) return report("ok", `the write-ahead log has ${formatBytes(bytes)}`);
  const advice = "Something prevents its truncation: end programs that hold the database open, or restart the gateway";
  report("warning", `the write-ahead log has ${formatBytes(bytes)}. ${advice}`);
}

/** A running gateway deletes old events every hour. */
const PRUNED_LATE_MS = 6 * 3_600_000;

export function checkRetention({ retention }: Config, inspection: Inspection, report: Report): void {
  const { oldestReceivedAt, lastPrunedAt, dueEvents } = inspection;
  const oldest = oldestReceivedAt === undefined ? "no events" : `the oldest event is of ${isoOf(oldestReceivedAt)}`;
  if (retention.days === 0) return report("ok", `events are kept forever (retention.days is 0); ${oldest}`);
  const last = lastPrunedAt === undefined ? "nothing was deleted yet" : `last complete run ${isoOf(lastPrunedAt)}`;
  const detail = `events are kept for ${retention.days} days; ${oldest}; about ${countOf(dueEvents, "event")} to be deleted; ${last}`;
  const isLate = dueEvents > 0 && lastPrunedAt !== undefined && Date.now() - lastPrunedAt > PRUNED_LATE_MS;
  if (isLate) report("warning", `${detail}. A running gateway deletes them every hour: start it, or read its log`);
  else report("ok", detail);
}

function isoOf(at: number): string {
  return new Date(at).toISOString();
}
