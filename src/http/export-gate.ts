import type { Clock } from "../domain/clock.ts";
import { createTurns } from "../registry/in-turn.ts";
import type { GiveWay } from "./give-way.ts";
import { createKeyPlaces } from "./key-places.ts";

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
  giveWay: GiveWay;
}

/** Whose client takes nothing for so long is ended. */
export const STALLED_MS = 60_000;

export function createExportGate({ maxExports, maxExportsPerKey, clock, giveWay }: ExportGateOptions): ExportGate {
  const places = createKeyPlaces({
    max: maxExports,
    maxPerKey: maxExportsPerKey,
    things: "exports",
    advice: "Read one to its end, or close it, before you begin another.",
  });
  const inTurn = createTurns();

  return {
    enter(keyId, endStalled) {
      const leave = places.take(keyId);
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
