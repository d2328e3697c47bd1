import type { Config } from "../config/settings-tree.ts";
import { getDatabasePath } from "../config/store-url.ts";
import { createIdSource } from "../domain/ids.ts";
import { createSystemClock, createSystemRandom } from "../domain/system-clock.ts";
import { openDiskWatch } from "../manage/disk-watch.ts";
import { loadOrCreateMasterKey } from "../manage/key-files.ts";
import { createQuotaGate } from "../manage/quotas.ts";
import { createRetentionTimes } from "../manage/retention.ts";
import { createSecretBox } from "../registry/secret-box.ts";
import { openKeys } from "../registry/keys.ts";
import { createRegistry } from "../registry/registry.ts";
import { openTenants, type TenantsOptions } from "../registry/tenants.ts";
import { prepareDataDir } from "../store/sqlite/data-dir.ts";
import { lockDataDir } from "../store/sqlite/data-dir-lock.ts";
import { openStore } from "../store/open.ts";
import { tightenDataDir } from "../store/sqlite/private-files.ts";
import { refuseUnfinishedRestore } from "../store/sqlite/restore-mark.ts";
import { watchLoopLag } from "../telemetry/loop-lag.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { createWork } from "../telemetry/overload.ts";
import type { GatewayOptions } from "./options.ts";

/** What everything stands on: the store, time, chance, keys and tenants. */
export type Ground = Awaited<ReturnType<typeof openGround>>;

export async function openGround(config: Config, { logger, broken, onFatal, time }: GatewayOptions) {
  const { limits } = config;
  const wall = time?.wall ?? Date.now;
  prepareDataDir(config.dataDir);
  refuseUnfinishedRestore(config.dataDir);
  const lock = lockDataDir(config.dataDir);
  const { closed, open } = tightenDataDir(config.dataDir, getDatabasePath(config));
  if (closed.length > 0) logger.info({ paths: closed }, "what others could read is for this user only now");
  if (open.length > 0) {
    logger.warn({ paths: open }, "others can read the gateway's data, and that could not be changed");
  }

  const store = await openStore(`sqlite:${getDatabasePath(config)}`, {
    createClock: (lastKnownNow) => createSystemClock({ ...time, startAt: Math.max(wall(), lastKnownNow) }),
    dedupeHorizonMs: limits.dedupeHorizonDays * 86_400_000,
    synchronous: broken?.synchronous,
    onFatal(error) {
      logger.fatal({ error }, "the store failed");
      onFatal(error);
    },
  });
  const { clock } = store;
  const random = createSystemRandom();
  const createId = createIdSource(clock, random);
  const metrics = createMetrics();
  const loopLag = watchLoopLag({ maxLagMs: limits.maxLoopLagMs });
  const work = createWork();
  const disk = openDiskWatch({
    dataDir: config.dataDir,
    minFreeBytes: limits.diskMinFreeBytes,
    ballastBytes: limits.ballastBytes,
    clock,
    loadReusableBytes: () => store.reads.loadReusableBytes(),
    onChange: (isLow, freeBytes) => {
      if (isLow) logger.warn({ free_bytes: freeBytes }, "disk is nearly full, new events are refused");
      else logger.info({ free_bytes: freeBytes }, "disk has room again");
    },
  });
  const masterKey = config.masterKey ?? loadOrCreateMasterKey(config.dataDir);
  const secretBox = createSecretBox(masterKey);
  const registry = createRegistry({ records: store.records, clock });
  const keys = await openKeys({
    registry,
    clock,
    createId,
    adminKey: config.adminKey,
    maxKeysPerTenant: limits.maxKeysPerTenant,
  });
  const quotas = createQuotaGate({ store, clock, onFault: logFault });
  const retention = createRetentionTimes(config.retention);
  // They are opened later than tenants, which they belong to.
  let countSubscriptions: TenantsOptions["countSubscriptions"] = () => 0;
  const tenants = await openTenants({
    registry,
    store,
    clock,
    countLiveKeys: keys.countLive,
    countSubscriptions: (draft, id) => countSubscriptions(draft, id),
    onChange(changes) {
      retention.update(changes);
      return quotas.update(changes);
    },
  });

  function logFault(error: unknown): void {
    logger.error({ error }, "unexpected fault");
  }

  return {
    config,
    logger,
    broken,
    logFault,
    lock,
    store,
    clock,
    random,
    createId,
    metrics,
    loopLag,
    work,
    disk,
    secretBox,
    registry,
    keys,
    quotas,
    retention,
    tenants,
    countSubscriptionsBy(count: TenantsOptions["countSubscriptions"]) {
      countSubscriptions = count;
    },
  };
}
