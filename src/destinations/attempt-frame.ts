import type { Clock } from "../model/clock.ts";
import { failed, failedHere, type KindRecord, type Outcome } from "../model/outcome.ts";
import { keepOwnRecord } from "./own-record.ts";
import type { Attempt, AttemptReport } from "./sender.ts";

/** One delivery of an attempt that is under way. */
export interface AttemptRun {
  readonly attempt: Attempt;
  /** Recorded when the run ends without a record. */
  record: KindRecord;
  /** Called when the attempt is over before the run has ended. */
  giveUp: (() => void) | undefined;
  /** Set when the run has ended. */
  outcome: Outcome | undefined;
  /** Does nothing when the run has ended already. */
  readonly end: (outcome: Outcome, record?: KindRecord) => void;
}

interface FrameOptions {
  clock: Clock;
  /** What did not happen in time; undefined when the sender itself keeps to the time of these attempts. */
  lateOf: (attempt: Attempt) => string | undefined;
  /** The record of a run that ends without one. */
  recordOf?: ((attempt: Attempt) => KindRecord) | undefined;
}

/**
 * The attempts of a sender that are under way. Each is reported once, when all its deliveries have ended: at the latest
 * at its deadline, or when the sender is closed.
 */
export function createAttemptFrame({ clock, lateOf, recordOf = emptyRecord }: FrameOptions) {
  const stops = new Set<(outcome: Outcome) => void>();
  let isClosed = false;

  return {
    /** `act` is called for each delivery; without it, the caller ends the runs that are returned. */
    begin(
      attempts: readonly Attempt[],
      done: (reports: readonly AttemptReport[]) => void,
      act?: (run: AttemptRun) => Promise<void>,
    ): readonly AttemptRun[] {
      const [startedAt, startedNow] = [clock.wall(), clock.now()];
      const [first] = attempts as [Attempt];
      const { timeoutMs } = first.subscription;
      let left = attempts.length;

      function report(): void {
        stops.delete(stop);
        deadline?.cancel();
        const durationMs = Math.max(0, clock.now() - startedNow);
        const reports = runs.map(({ outcome, record }): AttemptReport => ({
          outcome: outcome as Outcome,
          startedAt,
          durationMs,
          record,
        }));
        if (isClosed) done(reports);
        else setImmediate(done, reports);
      }

      function stop(outcome: Outcome): void {
        for (const run of runs) {
          if (run.outcome === undefined) run.giveUp?.();
          run.end(outcome);
        }
      }

      const runs = attempts.map((attempt): AttemptRun => {
        const run: AttemptRun = {
          attempt,
          record: recordOf(attempt),
          giveUp: undefined,
          outcome: undefined,
          end(outcome, record = run.record) {
            if (run.outcome !== undefined) return;
            run.outcome = outcome;
            run.record = record;
            left -= 1;
            if (left === 0) report();
          },
        };
        return run;
      });
      const late = lateOf(first);
      const deadline =
        late === undefined
          ? undefined
          : clock.setTimer(startedNow + timeoutMs, () =>
              stop(failed(`${late} within ${timeoutMs} ms`, { result: "timeout" })),
            );
      stops.add(stop);
      if (act !== undefined) {
        for (const run of runs)
          act(run).catch((error: unknown) => run.end(failedHere(`the message could not be created: ${String(error)}`)));
      }
      return runs;
    },
    close(): void {
      isClosed = true;
      for (const stop of stops) stop(failedHere("the gateway stopped"));
    },
  };
}

function emptyRecord({ subscription }: Attempt): KindRecord {
  return keepOwnRecord(subscription.place, {});
}
