import { createTurns, type Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";

/** An export whose client reads nothing for this long is ended. */
export const STALLED_MS = 60_000;

export type ExportGate = ReturnType<typeof createExportGate>;
export type Export = ReturnType<ExportGate["enter"]>;

/**
 * An export may be as long as the log. So only a few run at once, they read one after the other and only while their
 * clients read, and they wait while the gateway is busy.
 */
export function createExportGate(parts: {
  maxExports: number;
  maxExportsPerKey: number;
  clock: Pick<Clock, "now" | "setTimer">;
  giveWay: GiveWay;
}) {
  const { maxExports, maxExportsPerKey, clock, giveWay } = parts;
  const takePlace = createKeyPlaces({
    max: maxExports,
    maxPerKey: maxExportsPerKey,
    things: "exports",
    advice: "Finish or close one before you start another.",
  });
  const inTurn = createTurns();

  return {
    /** Throws `too_many_requests` when the limit is reached. Otherwise the export counts until `leave`. */
    enter(owner: string, endStalled: () => void) {
      const leave = takePlace(owner);
      let takenAt = clock.now();
      const check = () => {
        if (clock.now() - takenAt >= STALLED_MS) endStalled();
        else timer = clock.setTimer(takenAt + STALLED_MS, check);
      };
      let timer = clock.setTimer(takenAt + STALLED_MS, check);

      return {
        /** Runs when no other export reads and the event loop is not busy. */
        read: <Result>(run: () => Promise<Result>): Promise<Result> =>
          inTurn(async () => {
            await giveWay();
            return run();
          }),
        /** Must be called when the client has read some of the output. */
        recordTaken() {
          takenAt = clock.now();
        },
        leave() {
          timer.cancel();
          leave();
        },
      };
    },
  };
}

interface KeyPlaces {
  max: number;
  maxPerKey: number;
  /** What is limited, as a plural: `exports`. */
  things: string;
  /** What the caller can do about it. */
  advice: string;
}

const RETRY_AFTER_S = 10;

/**
 * Limits long-running answers, in total and for each owner: a key, or all portal links of a tenant. The function that is
 * returned takes a place until what it returns is called. It throws `too_many_requests` when the limit is reached.
 */
export function createKeyPlaces({ max, maxPerKey, things, advice }: KeyPlaces): (owner: string) => () => void {
  const byOwner = new Map<string, number>();
  let taken = 0;

  function reject(where: string, limit: number): never {
    throw new PosthornError("too_many_requests", `${limit} ${things} are already running ${where}. ${advice}`, {
      retryAfterS: RETRY_AFTER_S,
      details: { limit },
    });
  }

  return (owner) => {
    const ofOwner = byOwner.get(owner) ?? 0;
    if (ofOwner >= maxPerKey) reject("with this key, or with the portal links of this tenant", maxPerKey);
    if (taken >= max) reject("on this gateway", max);
    byOwner.set(owner, ofOwner + 1);
    taken++;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      taken--;
      const left = (byOwner.get(owner) ?? 1) - 1;
      if (left === 0) byOwner.delete(owner);
      else byOwner.set(owner, left);
    };
  };
}

/** While the event loop lags, a read waits in steps of this, but not forever: it becomes slow, but continues. */
const WAIT_MS = 20;
const MAX_WAITS = 50;

interface GiveWayOptions {
  /** Whether the event loop lags. */
  isBusy: () => boolean;
  /** Waits in the machine's time, not that of the gateway's clock, because the lag is measured in it. */
  wait?: ((ms: number) => Promise<void>) | undefined;
}

/** For long tasks that can wait: resolves when the gateway is no longer busy with other work. */
export type GiveWay = () => Promise<void>;

export function createGiveWay({ isBusy, wait = waitOnMachine }: GiveWayOptions): GiveWay {
  return async () => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (let waits = 0; waits < MAX_WAITS && isBusy(); waits++) await wait(WAIT_MS);
  };
}

function waitOnMachine(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
