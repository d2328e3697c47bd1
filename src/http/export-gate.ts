import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { createTurns } from "../registry/in-turn.ts";

/**
 * An export may be as long as the log. So few run at once, they read one after the other and only while their clients
 * do, and they wait for whatever else the gateway has to do.
 */
export interface ExportGate {
  /** Throws `too_many_requests` when there are as many as may be; else it counts until `leave`. */
  enter(keyId: string, endStalled: () => void): Export;
}

export interface Export {
  /** Runs when no other export reads, and when the loop has time for it. */
  read<Result>(run: () => Promise<Result>): Promise<Result>;
  /** The client has taken some of what it was given. */
  noteTaken(): void;
  leave(): void;
}

export interface ExportGateOptions {
  maxExports: number;
  maxExportsPerKey: number;
  clock: Pick<Clock, "now" | "setTimer">;
  isBusy: () => boolean;
}

/** Whose client takes nothing for so long is ended. */
export const STALLED_MS = 60_000;
const RETRY_AFTER_S = 10;
/** While the loop is late a read waits in steps of this, and not for ever: an export is slow then, but goes on. */
const WAIT_MS = 20;
const MAX_WAITS = 50;

export function createExportGate(options: ExportGateOptions): ExportGate {
  const { maxExports, maxExportsPerKey, clock, isBusy } = options;
  const byKey = new Map<string, number>();
  const inTurn = createTurns();
  let running = 0;

  function refuse(what: string, max: number): never {
    throw new PosthornError(
      "too_many_requests",
      `${max} exports run ${what} already. Read one to its end, or close it, before you begin another.`,
      { retryAfterS: RETRY_AFTER_S, details: { limit: max } },
    );
  }

  const wait = (ms: number) => new Promise<void>((resolve) => clock.setTimer(clock.now() + ms, resolve));

  async function giveWay(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (let waits = 0; waits < MAX_WAITS && isBusy(); waits++) await wait(WAIT_MS);
  }

  return {
    enter(keyId, endStalled) {
      const ofKey = byKey.get(keyId) ?? 0;
      if (ofKey >= maxExportsPerKey) refuse("with this key", maxExportsPerKey);
      if (running >= maxExports) refuse("on this gateway", maxExports);
      byKey.set(keyId, ofKey + 1);
      running++;
      let takenAt = clock.now();
      let isOpen = true;
      const check = () => {
        if (clock.now() - takenAt >= STALLED_MS) endStalled();
        else timer = clock.setTimer(takenAt + STALLED_MS, check);
      };
      let timer = clock.setTimer(takenAt + STALLED_MS, check);

      return {
        read: (run) =>
          inTurn(async () => {
            await giveWay();
            return run();
          }),
        noteTaken() {
          takenAt = clock.now();
        },
        leave() {
          if (!isOpen) return;
          isOpen = false;
          timer.cancel();
          running--;
          const left = (byKey.get(keyId) ?? 1) - 1;
          if (left === 0) byKey.delete(keyId);
          else byKey.set(keyId, left);
        },
      };
    },
  };
}
