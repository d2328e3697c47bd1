import { PosthornError } from "../model/errors.ts";
import { openDiskWatch } from "../jobs/disk-watch.ts";
import { watchLoopLag } from "../accept/loop-lag.ts";
import { createWork, findOverload } from "../accept/overload.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";

/** Decides whether more events can be accepted: disk, event loop, waiting work, shutdown. */
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
      if (isLow) logger.warn({ free_bytes: freeBytes }, "disk is nearly full, new events are rejected with 503");
      else logger.info({ free_bytes: freeBytes }, "disk has room again");
    },
    onBallastFault: (error) =>
      logger.warn({ error }, "no ballast file: when the disk is full, what is under way may not be recorded"),
  });
  parts.add(() => disk.close());
  const bounds = { ...limits, maxLagMs: limits.maxLoopLagMs };
  let isShuttingDown = false;

  /** Why no event can be accepted now. Asked for every request before its body is read. */
  function findTrouble(): PosthornError | undefined {
    if (isShuttingDown) {
      return new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
    }
    if (disk.isLow) return new PosthornError("store_full", "The gateway's disk is nearly full.", { retryAfterS: 5 });
    switch (findOverload(loopLag.run, work, bounds)) {
      case "memory":
        return overloaded("Too many request bodies are waiting to be stored.");
      case "lag":
        return overloaded("The gateway is overloaded: its event loop lags, and too many events are waiting.");
      default:
        return undefined;
    }
  }

  return {
    work,
    loopLag,
    disk,
    findTrouble,
    /** From now on no event is accepted. */
    shutDown() {
      isShuttingDown = true;
    },
  };
}

function overloaded(message: string): PosthornError {
  return new PosthornError("overloaded", message, { retryAfterS: 1 });
}
