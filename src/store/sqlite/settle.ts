import { ATTEMPT_RESULTS } from "../../domain/outcome.ts";
import { ATTEMPT_TRIGGERS, type AttemptRecord, type Settlement, type Settled } from "../store.ts";
import type { Claim } from "./claim.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import { isTaken } from "./faults.ts";
import { EARLY, STATE_NUMBERS, type DeliveryRow, type Moves } from "./move.ts";

export interface Settle {
  settle(settlement: Settlement): Settled;
  /** Returns the number it is recorded by: the next free one, when another attempt already has `number`. */
  recordAttempt(eventSeq: number, subscriptionSeq: number, number: number, attempt: AttemptRecord): number;
}

const NOTHING_FOLLOWS: Settled = { applied: true, next: undefined, movedUp: false };

export function createSettle(db: Database, moves: Moves, claim: Claim, counters: CounterDeltas): Settle {
  const insertAttempt = db.prepare(`
    insert into attempts (event_seq, subscription_seq, number, started_at, duration_ms, result, cause, url, address,
      request_headers, response_code, response_headers, response_body, error)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const deliver = db.prepare(`
    update deliveries set state = 2, attempt_count = ?, rank = null, next_attempt_at = null, completed_at = ?,
      last_error = null
    where event_seq = ? and subscription_seq = ? and state = 1 and generation = ? and attempt_count = ?
      and queued_key is null`);
  // Of a delivery that is being sent again the number stays, because the one that sends it compares it.
  const countLateAttempt = db.prepare(`
    update deliveries set attempt_count = max(attempt_count, ?1),
      uncounted_attempts = uncounted_attempts + max(attempt_count, ?1) - attempt_count
    where event_seq = ?2 and subscription_seq = ?3 and state <> 1`);
  const findAttempt = db.prepare(
    "select started_at from attempts where event_seq = ? and subscription_seq = ? and number = ?",
  );
  const selectLastNumber = db.prepare(
    "select max(number) as number from attempts where event_seq = ? and subscription_seq = ?",
  );

  function recordAttempt(eventSeq: number, subscriptionSeq: number, number: number, attempt: AttemptRecord): number {
    if (!insertAs(eventSeq, subscriptionSeq, number, attempt)) {
      const known = findAttempt.get(eventSeq, subscriptionSeq, number) as { started_at: number };
      if (known.started_at === attempt.startedAt) return number;
      const last = selectLastNumber.get(eventSeq, subscriptionSeq) as { number: number };
      return recordAttempt(eventSeq, subscriptionSeq, last.number + 1, attempt);
    }
    counters.addDelivery(subscriptionSeq, "attempts", 1);
    if (attempt.result !== "success") counters.addDelivery(subscriptionSeq, "failures", 1);
    counters.noteAttempt(subscriptionSeq, attempt.startedAt);
    return number;
  }

  function insertAs(eventSeq: number, subscriptionSeq: number, number: number, attempt: AttemptRecord): boolean {
    try {
      insertAttempt.get(
        eventSeq,
        subscriptionSeq,
        number,
        attempt.startedAt,
        Math.round(attempt.durationMs),
        ATTEMPT_RESULTS.indexOf(attempt.result),
        ATTEMPT_TRIGGERS.indexOf(attempt.trigger),
        attempt.url ?? null,
        attempt.address ?? null,
        attempt.requestHeaders ?? null,
        attempt.responseCode ?? null,
        attempt.responseHeaders ?? null,
        attempt.responseBody ?? null,
        attempt.error ?? null,
      );
      return true;
    } catch (error) {
      if (isTaken(error)) return false;
      throw error;
    }
  }

  /** By far the most frequent end, in one statement: delivered, and nobody queues behind it. */
  function deliverUnqueued(s: Settlement, number: number): boolean {
    const { changes } = deliver.run(
      number,
      s.attempt.startedAt + Math.round(s.attempt.durationMs),
      s.eventSeq,
      s.subscriptionSeq,
      s.generation,
      s.attemptNumber - 1,
    );
    if (changes === 0) return false;
    counters.addDelivery(s.subscriptionSeq, "delivered", 1);
    return true;
  }

  function isCurrent(row: DeliveryRow, s: Settlement): boolean {
    return (
      row.state === STATE_NUMBERS.sending &&
      row.generation === s.generation &&
      row.attempt_count === s.attemptNumber - 1
    );
  }

  return {
    recordAttempt,
    settle(s) {
      const number = recordAttempt(s.eventSeq, s.subscriptionSeq, s.attemptNumber, s.attempt);
      if (s.verdict === "delivered" && deliverUnqueued(s, number)) return NOTHING_FOLLOWS;

      const row = moves.find(s.eventSeq, s.subscriptionSeq);
      if (row === undefined || !isCurrent(row, s)) {
        countLateAttempt.run(number, s.eventSeq, s.subscriptionSeq);
        return { applied: false, next: undefined, movedUp: false };
      }
      if (s.verdict === "retry") {
        moves.makeDue(row, s.nextAttemptAt ?? s.now, "retry", {
          generation: row.generation,
          attemptCount: number,
          uncountedAttempts: row.uncounted_attempts + number - s.attemptNumber + (s.isUncounted === true ? 1 : 0),
          recoveries: 0,
          // Brought forward and failed again: its next try is the one that its schedule says.
          nextTry: s.keepsTime || row.early === EARLY.broughtForward ? "kept" : "free",
          error: s.attempt.error,
        });
        return NOTHING_FOLLOWS;
      }
      const follower = moves.end(row, s.verdict, {
        now: s.attempt.startedAt + Math.round(s.attempt.durationMs),
        attemptCount: number,
        deadReason: s.deadReason,
        error: s.attempt.error,
        leavesKeyQueue: s.leavesKeyQueue,
      });
      if (follower === undefined) return NOTHING_FOLLOWS;
      const next = s.claimNext ? claim.claimOne(follower.eventSeq, follower.subscriptionSeq, s.now) : undefined;
      return { applied: true, next, movedUp: next === undefined };
    },
  };
}
