import { stat } from "node:fs/promises";
import { join } from "node:path";
import { getDatabasePath } from "../config/store-url.ts";
import { openInFlightFile } from "../deliver/in-flight-file.ts";
import { deriveAuditSeed } from "../model/audit.ts";
import { createIdSource } from "../model/ids.ts";
import { createSystemClock, createSystemRandom } from "../model/clock.ts";
import { loadOrCreateMasterKey } from "../resources/secret-box.ts";
import { lockDataDir } from "../store/sqlite/data-dir-lock.ts";
import { prepareDataDir } from "../store/sqlite/durable-directory.ts";
import { openStore } from "../store/open.ts";
import { tightenDataDir } from "../store/sqlite/private-files.ts";
import { refuseUnfinishedRestore } from "../store/sqlite/restore-mark.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { Start } from "./options.ts";

/** The data directory with the store; the clock, which continues from the store's last known time; and randomness. */
export type Storage = Awaited<ReturnType<typeof openStorage>>;

export async function openStorage(start: Start) {
  const { config, options, logger, parts } = start;
  const wall = options.time?.wall ?? Date.now;
  openDataDir(start);
  const masterKey = config.masterKey ?? loadOrCreateMasterKey(config.dataDir);
  const open = options.makers?.openStore?.(openStore) ?? openStore;
  const metrics = createMetrics(options.time?.monotonic);
  const store = await open(`sqlite:${getDatabasePath(config)}`, {
    createClock: (lastKnownNow) => createSystemClock({ ...options.time, startAt: Math.max(wall(), lastKnownNow) }),
    dedupeHorizonMs: config.limits.dedupeHorizonDays * 86_400_000,
    auditSeedHex: deriveAuditSeed(masterKey),
    onCommit: metrics.countCommit,
    onFault: start.logFault,
    onFatal(error) {
      logger.fatal({ error }, "the store failed");
      options.onFatal(error);
    },
  });
  parts.add(() => store.close());
  const { clock } = store;
  const random = createSystemRandom();
  const inFlight = openInFlightFile(join(config.dataDir, "in-flight"), {
    places: config.limits.maxSockets,
    onFault: (error) =>
      logger.warn({ error }, "in-flight attempts cannot be recorded; after a crash they are repeated without a record"),
    defer: setImmediate,
  });
  parts.add(() => inFlight.close());
  const loadWalBytes = () => sizeOf(`${getDatabasePath(config)}-wal`);
  return { store, metrics, loadWalBytes, clock, masterKey, random, createId: createIdSource(clock, random), inFlight };
}

/** 0 where there is none. */
async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.size ?? 0;
}

function openDataDir({ config, logger, parts }: Start): void {
  prepareDataDir(config.dataDir);
  refuseUnfinishedRestore(config.dataDir);
  const lock = lockDataDir(config.dataDir);
  parts.add(() => lock.release());
  const { closed, open } = tightenDataDir(config.dataDir, getDatabasePath(config));
  if (closed.length > 0)
    logger.info({ paths: closed }, "permissions of the data directory corrected: only this user can read it");
  if (open.length > 0) {
    logger.warn({ paths: open }, "other users can read the data directory, and its permissions could not be changed");
  }
}
