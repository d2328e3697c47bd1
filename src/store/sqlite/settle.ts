import { STATE, statesOf } from "../../model/delivery.ts";
import type { AttemptRecord, DeliveryKey, Settled, Settlement } from "../port/lanes.ts";
import { NOTHING_FOLLOWS } from "../commit/batch.ts";
import { createAttemptLog, createAttempts, type AttemptPlace } from "./attempts.ts";
import type { Claim } from "./claim.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import { EARLY, type DeliveryRow, type Moves, type MoveOver } from "./move.ts";

const SUCCEED = statesOf("succeed");
const FIRST: AttemptPlace = { seq: null, number: 1 };
/** What was sent, a late answer and an error may repeat a body that was erased. */
const eraseTexts = (attempt: AttemptRecord): AttemptRecord => ({
  ...attempt,
  error: undefined,
  record: { ...attempt.record, place: undefined, sent: undefined, facts: undefined, answer: undefined },
});

export function createSettle(db: Database, moves: Moves, moveOver: MoveOver, claim: Claim, counters: CounterDeltas) {
  const attempts = createAttempts(db);
  const log = createAttemptLog(db);
  const deliver = db.prepare(`
    update deliveries set state = ${SUCCEED.to}, attempt_count = 1, last_attempt = ?, rank = null,
      next_attempt_at = null, completed_at = ?, last_error = null
    where event_seq = ? and subscription_seq = ? and state in ${SUCCEED.from} and generation = ? and attempt_count = 0
      and last_attempt is null and queued_key is null`);
  const isBodyErased = db.prepare("select 1 from events where seq = ? and erased_at is not null");
  const pointAtLast = db.prepare("update deliveries set last_attempt = ? where event_seq = ? and subscription_seq = ?");
  // For a delivery that is being sent again the count stays, because its sender compares it.
  const countLateAttempt = db.prepare(`
    update deliveries set attempt_count = max(attempt_count, ?1),
      uncounted_attempts = uncounted_attempts + max(attempt_count, ?1) - attempt_count
    where event_seq = ?2 and subscription_seq = ?3 and state <> ${STATE.sending}`);

  /** Returns the recorded number: the next free one if another attempt already has `number`. */
  function recordAttempt(eventSeq: number, subscriptionSeq: number, number: number, attempt: AttemptRecord): number {
    const key = { eventSeq, subscriptionSeq };
    const last = attempts.findLast(key);
    // The event was deleted, and nobody can ask for its attempts.
    if (last === undefined) return number;
    const isTaken = number <= last.number;
    if (isTaken && attempts.findStart(key, number) === attempt.startedAt) return number;
    const given = isTaken ? last.number + 1 : number;
    pointAtLast.run(log.nextSeq, eventSeq, subscriptionSeq);
    log.append(key, { seq: last.seq, number: given }, attempt);
    count(subscriptionSeq, attempt);
    return given;
  }

  function count(subscriptionSeq: number, attempt: AttemptRecord): void {
    counters.addDelivery(subscriptionSeq, "attempts", 1);
    if (attempt.result !== "success") counters.addDelivery(subscriptionSeq, "failures", 1);
    counters.recordAttemptTime(subscriptionSeq, attempt.startedAt);
  }

  /** The most frequent end, in two statements: delivered at the first attempt, with no follower in its ordering key. */
  function deliverAtOnce(s: Settlement): boolean {
    if (s.verdict !== "delivered" || s.attemptNumber !== 1 || s.attempt.error !== undefined) return false;
    const { changes } = deliver.run(
      log.nextSeq,
      s.attempt.startedAt + Math.round(s.attempt.durationMs),
      s.eventSeq,
      s.subscriptionSeq,
      s.generation,
    );
    if (changes === 0) return false;
    log.append(s, FIRST, s.attempt);
    count(s.subscriptionSeq, s.attempt);
    counters.addDelivery(s.subscriptionSeq, "delivered", 1);
    return true;
  }

  function isCurrent(row: DeliveryRow, s: Settlement): boolean {
    return row.state === STATE.sending && row.generation === s.generation && row.attemptCount === s.attemptNumber - 1;
  }

  function follow(follower: DeliveryKey | undefined, { claimNext }: Settlement, now: number): Settled {
    if (follower === undefined) return NOTHING_FOLLOWS;
    const next = claimNext ? claim.claimOne(follower.eventSeq, follower.subscriptionSeq, now) : undefined;
    return { applied: true, next, movedUp: next === undefined };
  }

  return {
    recordAttempt,
    /** See `AttemptLog`. */
    forgetForms: log.forgetForms,
    rollback: log.rollback,
    settle(s: Settlement, now: number): Settled {
      if (deliverAtOnce(s)) return NOTHING_FOLLOWS;

      const row = moves.find(s.eventSeq, s.subscriptionSeq);
      const isErased = row !== undefined && row.state !== STATE.sending && isBodyErased.get(s.eventSeq) !== undefined;
      const attempt = isErased ? eraseTexts(s.attempt) : s.attempt;
      const number = recordAttempt(s.eventSeq, s.subscriptionSeq, s.attemptNumber, attempt);
      if (row === undefined || !isCurrent(row, s)) {
        countLateAttempt.run(number, s.eventSeq, s.subscriptionSeq);
        return { applied: false, next: undefined, movedUp: false };
      }
      const endedAt = s.attempt.startedAt + Math.round(s.attempt.durationMs);
      const isKept = s.moveTo !== undefined && !moveOver.isPossible(row, s.moveTo);
      if (s.moveTo !== undefined && !isKept) {
        const deadReason = s.moveTo.isReturn === true ? s.deadReason : undefined;
        return follow(moveOver.move(row, s.moveTo, { endedAt, attemptCount: number, deadReason }), s, now);
      }
      if (s.verdict === "retry") {
        moves.makeDue(row, s.nextAttemptAt ?? now, {
          act: "retry",
          attemptCount: number,
          uncountedAttempts: row.uncountedAttempts + number - s.attemptNumber + (s.isUncounted === true ? 1 : 0),
          recoveries: 0,
          // It was brought forward and failed again: the next attempt follows its schedule.
          keepsTime: s.keepsTime || (row.early === EARLY.broughtForward && s.isUncounted !== true),
          error: s.attempt.error,
        });
        return isKept ? { ...NOTHING_FOLLOWS, isKept } : NOTHING_FOLLOWS;
      }
      const follower = moves.end(row, s.verdict, {
        endedAt,
        attemptCount: number,
        deadReason: s.deadReason,
        error: s.attempt.error,
        leavesKeyQueue: s.leavesKeyQueue,
      });
      return isKept ? { ...follow(follower, s, now), isKept } : follow(follower, s, now);
    },
  };
}

export type Settle = ReturnType<typeof createSettle>;
