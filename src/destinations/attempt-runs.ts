import type { Clock } from "../model/clock.ts";
import { failed, failedHere, type Outcome } from "../model/outcome.ts";
import type { Attempt, AttemptRecordPart, AttemptReport } from "./sender.ts";

/**
 * Running attempts of one delivery each. Each is reported once, at the latest at its deadline or when all are closed.
 */
export interface AttemptRuns {
  begin(attempt: Attempt, done: Report, act: (run: AttemptRun) => Promise<void>): void;
  close(): void;
}

export interface AttemptRun {
  readonly isOver: boolean;
  /** Does nothing when the attempt has ended already. */
  end(outcome: Outcome, record?: AttemptRecordPart): void;
  /** `giveUp` is called when the attempt ends in another way than by `end`. */
  onGivenUp(giveUp: () => void): void;
}

export interface AttemptRunsOptions {
  clock: Clock;
  /** The name of the other side in error messages. */
  farEnd: string;
  /** The record of an attempt that ends without one. */
  emptyRecord: (attempt: Attempt) => AttemptRecordPart;
}

type Report = (reports: readonly AttemptReport[]) => void;

export function createAttemptRuns({ clock, farEnd, emptyRecord }: AttemptRunsOptions): AttemptRuns {
  const stops = new Set<(outcome: Outcome) => void>();

  return {
    begin(attempt, done, act) {
      const [startedAt, startedNow] = [clock.wall(), clock.now()];
      const { timeoutMs } = attempt.subscription;
      let giveUp: (() => void) | undefined;

      function end(outcome: Outcome, record: AttemptRecordPart = emptyRecord(attempt)): void {
        if (!stops.delete(stop)) return;
        deadline.cancel();
        const durationMs = Math.max(0, clock.now() - startedNow);
        setImmediate(done, [{ outcome, startedAt, durationMs, record }]);
      }

      function stop(outcome: Outcome): void {
        giveUp?.();
        end(outcome);
      }

      stops.add(stop);
      const deadline = clock.setTimer(startedNow + timeoutMs, () =>
        stop(failed(`${farEnd} did not accept it within ${timeoutMs} ms`, { result: "timeout" })),
      );
      const run: AttemptRun = {
        get isOver() {
          return !stops.has(stop);
        },
        end,
        onGivenUp: (act) => void (giveUp = act),
      };
      act(run).catch((error: unknown) => end(failedHere(`the message could not be created: ${String(error)}`)));
    },
    close() {
      for (const stop of stops) stop(failedHere("the gateway stopped"));
    },
  };
}
