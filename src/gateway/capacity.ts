import { PosthornError } from "../domain/errors.ts";
import { openDiskWatch } from "../operate/disk-watch.ts";
import { watchLoopLag } from "../telemetry/loop-lag.ts";
import { createWork, findOverload } from "../telemetry/overload.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";

/** What tells whether more can be taken in: the disk, the event loop, the work that waits, and whether it all ends. */
export type Capacity = ReturnType<typeof openCapacity>;

export function openCapacity({ config, logger, parts }: Start, { store, clock }: Storage) {
  const { limits } = config;
  const work = createWork();
  const loopLag = watchLoopLag({ maxLagMs: limits.maxLoopLagMs });
  parts.add(() => loopLag.stop());
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
  parts.add(() => disk.close());
  const bounds = { ...limits, maxLagMs: limits.maxLoopLagMs };
  let isShuttingDown = false;

  /** Why nothing can be taken right now; asked for every request before its body is read. */
  function findTrouble(): PosthornError | undefined {
    if (isShuttingDown) {
      return new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
    }
    if (disk.isLow) return new PosthornError("store_full", "The gateway's disk is nearly full.", { retryAfterS: 5 });
    switch (findOverload(loopLag.run, work, bounds)) {
      case "memory":
        return overloaded("The bodies that wait for their answers fill the memory set aside for them.");
      case "lag":
        return overloaded("The gateway has run late for a while, and too many events wait.");
      default:
        return undefined;
    }
  }

  return {
    work,
    loopLag,
    disk,
    findTrouble,
    /** From now on nothing is taken in. */
    shutDown() {
      isShuttingDown = true;
    },
  };
}

function overloaded(message: string): PosthornError {
  return new PosthornError("overloaded", message, { retryAfterS: 1 });
}
