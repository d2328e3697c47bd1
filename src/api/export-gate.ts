import { type Clock, createTurns } from "../model/clock.ts";
import type { GiveWay } from "./give-way.ts";
import { createKeyPlaces } from "./key-places.ts";

/**
 * An export may be as long as the log. So only a few run at once, they read one after the other and only while their
 * clients read, and they wait while the gateway is busy.
 */
export interface ExportGate {
  /** Throws `too_many_requests` when the limit is reached. Otherwise the export counts until `leave`. */
  enter(owner: string, endStalled: () => void): Export;
}

export interface Export {
  /** Runs when no other export reads and the event loop is not busy. */
  read<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Must be called when the client has read some of the output. */
  noteTaken(): void;
  leave(): void;
}

export interface ExportGateOptions {
  maxExports: number;
  maxExportsPerKey: number;
  clock: Pick<Clock, "now" | "setTimer">;
  giveWay: GiveWay;
}

/** An export whose client reads nothing for this long is ended. */
export const STALLED_MS = 60_000;

export function createExportGate({ maxExports, maxExportsPerKey, clock, giveWay }: ExportGateOptions): ExportGate {
  const places = createKeyPlaces({
    max: maxExports,
    maxPerKey: maxExportsPerKey,
    things: "exports",
    advice: "Finish or close one before you start another.",
  });
  const inTurn = createTurns();

  return {
    enter(owner, endStalled) {
      const leave = places.take(owner);
      let takenAt = clock.now();
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
          timer.cancel();
          leave();
        },
      };
    },
  };
}
