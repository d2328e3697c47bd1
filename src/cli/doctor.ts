import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import type { Config } from "../config/settings-tree.ts";
import { ageOf } from "../domain/retention.ts";
import { getDatabasePath } from "../config/store-url.ts";
import { inspectDatabase, type Inspection } from "../store/sqlite/inspect.ts";
import { isDataDirLocked } from "../store/sqlite/data-dir-lock.ts";
import { createApiClient, readAnswer, type ApiAnswer } from "./api-client.ts";
import { getLocalUrl } from "./connect.ts";
import { checkSources } from "./doctor-sources.ts";
import { describeFailure, EXIT_FAILED } from "./failure.ts";
import { loadLocal, type LocalFlags } from "./local.ts";
import { countOf, formatBytes, print, printJson } from "./output.ts";

interface Finding {
  check: string;
  result: "ok" | "warn" | "fail";
  detail: string;
}

type Judge = (result: Finding["result"], detail: string) => void;

const EARLIEST_WALL_MS = Date.UTC(2025, 0, 1);
const MAX_SKEW_MS = 5000;

/** Looks at everything and changes nothing. */
export async function runDoctor(flags: LocalFlags): Promise<void> {
  const findings: Finding[] = [];
  const about =
    (check: string): Judge =>
    (result, detail) =>
      findings.push({ check, result, detail });

  about("node")("ok", `${process.version} on ${process.platform} ${process.arch}`);
  const config = checkConfig(flags, about("configuration"));
  if (config !== undefined) {
    checkDataDir(config, about("data dir"));
    const inspection = checkDatabase(config, about("database"));
    if (inspection !== undefined) checkRetention(config, inspection, about("retention"));
    await checkSources(config, inspection, about("sources"));
    const date = await checkGateway(config, about("gateway"));
    checkClock(inspection, date, about("clock"));
  }

  const isWell = findings.every(({ result }) => result !== "fail");
  if (!isWell) process.exitCode = EXIT_FAILED;
  if (flags.json === true) return printJson({ ok: isWell, checks: findings });
  const width = Math.max(...findings.map(({ check }) => check.length));
  for (const { check, result, detail } of findings) print(`${result.padEnd(4)}  ${check.padEnd(width)}  ${detail}`);
}

function checkConfig(flags: LocalFlags, judge: Judge): Config | undefined {
  try {
    const { config, warnings } = loadLocal(flags);
    judge(
      "ok",
      `valid; ${countOf(config.sources.length, "source")}, ${countOf(config.subscriptions.length, "subscription")} declared`,
    );
    for (const warning of warnings) judge("warn", warning);
    return config;
  } catch (error) {
    judge("fail", describeFailure(error));
    return undefined;
  }
}

function checkDataDir({ dataDir, limits }: Config, judge: Judge): void {
  if (!existsSync(dataDir)) return judge("warn", `${dataDir} does not exist yet; the first start makes it`);
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return judge("fail", `${dataDir} cannot be written (${(error as Error).message})`);
  }
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const detail = `${dataDir} has ${formatBytes(free)} free`;
  const floor = `new events are refused below ${formatBytes(limits.diskMinFreeBytes)}`;
  if (free < limits.diskMinFreeBytes) judge("fail", `${detail}; ${floor}`);
  else judge(free < 2 * limits.diskMinFreeBytes ? "warn" : "ok", `${detail}; ${floor}`);
}

function checkDatabase(config: Config, judge: Judge): Inspection | undefined {
  const file = getDatabasePath(config);
  let inspection: Inspection | undefined;
  try {
    inspection = inspectDatabase(file, ageOf(config.retention.days), Date.now());
  } catch (error) {
    judge("fail", `${file} cannot be read: ${(error as Error).message}`);
    return undefined;
  }
  if (inspection === undefined) {
    judge("ok", `${file} does not exist yet`);
    return undefined;
  }
  const { damages, version, journalMode, schemaVersion, knownSchemaVersion, sizeBytes } = inspection;
  if (damages.length > 0) judge("fail", `${file} is damaged: ${damages.join("; ")}. Restore a backup.`);
  else judge("ok", `${file} (${formatBytes(sizeBytes)}) is sound; SQLite ${version}, journal ${journalMode}`);
  if (schemaVersion > knownSchemaVersion) {
    judge("fail", `schema ${schemaVersion} is newer than this release, which knows ${knownSchemaVersion}`);
  } else if (schemaVersion < knownSchemaVersion) {
    judge("ok", `schema ${schemaVersion}; the next start brings it to ${knownSchemaVersion}`);
  } else {
    judge("ok", `schema ${schemaVersion}`);
  }
  const open = `${countOf(inspection.openDeliveries, "delivery is", "deliveries are")} open`;
  if (inspection.imbalance === 0) judge("ok", `${open}; the counters agree with the rows`);
  else judge("fail", `${open}; the counters differ from the rows by ${inspection.imbalance}`);
  return inspection;
}

/** A gateway that runs looks every hour. */
const PRUNED_LATE_MS = 6 * 3_600_000;

function checkRetention({ retention }: Config, inspection: Inspection, judge: Judge): void {
  const { oldestReceivedAt, lastPrunedAt, dueEvents } = inspection;
  const oldest = oldestReceivedAt === undefined ? "no events" : `the oldest event is of ${isoOf(oldestReceivedAt)}`;
  if (retention.days === 0) return judge("ok", `events are kept for ever (retention.days is 0); ${oldest}`);
  const last = lastPrunedAt === undefined ? "nothing was deleted yet" : `last complete run ${isoOf(lastPrunedAt)}`;
  const detail = `events are kept for ${retention.days} days; ${oldest}; about ${countOf(dueEvents, "event")} to be deleted; ${last}`;
  const isLate = dueEvents > 0 && lastPrunedAt !== undefined && Date.now() - lastPrunedAt > PRUNED_LATE_MS;
  judge(isLate ? "warn" : "ok", detail);
}

function isoOf(at: number): string {
  return new Date(at).toISOString();
}

/** Resolves to the date that the gateway gives. */
async function checkGateway(config: Config, judge: Judge): Promise<string | undefined> {
  let isRunning: boolean;
  try {
    isRunning = isDataDirLocked(config.dataDir);
  } catch (error) {
    judge("warn", `whether one runs cannot be told: ${(error as Error).message}`);
    return undefined;
  }
  let answer: ApiAnswer;
  let url: string;
  try {
    const client = createApiClient(getLocalUrl(config), undefined);
    ({ url } = client);
    answer = await client.get("/readyz", {}, [503]);
    readAnswer(client, answer);
  } catch (error) {
    if (!isRunning) judge("ok", "none is running on this data dir");
    else judge(config.port === 0 ? "warn" : "fail", `one runs on this data dir, but: ${describeFailure(error)}`);
    return undefined;
  }
  const { status, store } = JSON.parse(answer.text) as { status?: string; store?: { sync_mode?: string } };
  if (!isRunning) judge("warn", `${url} answers, but no gateway runs on this data dir: it is another one`);
  else if (status === "ok") judge("ok", `${url} is ready; sync ${store?.sync_mode}`);
  else judge("warn", `${url} is ${status}; sync ${store?.sync_mode}`);
  return answer.date;
}

function checkClock(inspection: Inspection | undefined, gatewayDate: string | undefined, judge: Judge): void {
  const wallMs = Date.now();
  const shown = new Date(wallMs).toISOString();
  const behindMs = (inspection?.lastKnownNow ?? 0) - wallMs;
  const skewMs = gatewayDate === undefined ? 0 : Math.abs(Date.parse(gatewayDate) - wallMs);
  if (wallMs < EARLIEST_WALL_MS) judge("fail", `${shown} cannot be true; set the clock`);
  else if (behindMs > MAX_SKEW_MS)
    judge("warn", `${shown} is ${Math.round(behindMs / 1000)} s before the database's last write`);
  else if (skewMs > MAX_SKEW_MS) judge("warn", `${shown} is ${Math.round(skewMs / 1000)} s off the gateway's clock`);
  else judge("ok", shown);
}
