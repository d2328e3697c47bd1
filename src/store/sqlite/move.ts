import {
  DELIVERY_STATES,
  STATE,
  nextState,
  rankOf,
  rankOfReplay,
  statesOf,
  type DeadReason,
  type DeliveryAction,
  type DeliveryState,
  isTerminal,
  describeMove,
} from "../../model/delivery.ts";
import { PRIORITIES, type Priority } from "../../model/event.ts";
import { orThrow } from "../../model/errors.ts";
import { ATTEMPT_TRIGGERS, type AttemptTrigger, type MoveTo } from "../port/lanes.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import type { UnreadableRows } from "./checked-rows.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Accept } from "./accept.ts";
import { createAttempts } from "./attempts.ts";

export interface DeliveryRow {
  event_seq: number;
  subscription_seq: number;
  state: number;
  generation: number;
  attempt_count: number;
  uncounted_attempts: number;
  recoveries: number;
  next_attempt_at: number | null;
  rank: number | null;
  early: number;
  queued_key: string | null;
  ordered: number;
  expires_at: number | null;
  dead_reason: string | null;
  priority: number;
  ordering_key: string | null;
}

export interface KeyFollower {
  eventSeq: number;
  subscriptionSeq: number;
}

type EndState = "delivered" | "dead" | "cancelled";

/** The act that leads to each end state. */
const ENDS = { delivered: "succeed", dead: "give_up", cancelled: "cancel" } as const satisfies Record<
  EndState,
  DeliveryAction
>;

export function stateOf(row: Pick<DeliveryRow, "state">): DeliveryState {
  return DELIVERY_STATES[row.state] ?? "pending";
}

/** The number of the state that the act leads to. */
function move(row: DeliveryRow, act: DeliveryAction): number {
  return STATE[orThrow(nextState(stateOf(row), act))];
}

/** How a delivery ends, where not as usual: now, with the attempts of its row, and not in the way of its ordering key. */
interface EndOptions {
  /** In wall time. */
  endedAt?: number;
  attemptCount?: number;
  deadReason?: DeadReason | undefined;
  error?: string | undefined;
  leavesKeyQueue?: boolean;
}

interface ReopenOptions {
  ordered: boolean;
  expiresAt: number | undefined;
  /** Part of a bulk replay: it goes behind all other due deliveries. */
  isBulk?: boolean | undefined;
}

interface DueChange {
  act: "retry" | "recover" | "bring_forward";
  generation: number;
  attemptCount: number;
  uncountedAttempts: number;
  recoveries: number;
  /** `kept`: the time of the next attempt stays fixed. */
  nextTry?: "free" | "kept" | undefined;
  error: string | undefined;
}

const RELEASE = statesOf("release");

/** The values of `deliveries.early`. */
export const EARLY = { free: 0, broughtForward: 1, kept: 2 } as const;

const NORMAL = PRIORITIES.indexOf("normal");

/** How a delivery changes its state and place. An act that its state does not allow is rejected. */
export function createMoves(
  db: Database,
  counters: CounterDeltas,
  unreadable: UnreadableRows,
  at: Readonly<BatchTime>,
) {
  const ofDelivery = `
    d.event_seq, d.subscription_seq, d.state, d.generation, d.attempt_count, d.uncounted_attempts, d.recoveries,
    d.next_attempt_at, d.rank, d.early, d.queued_key, d.ordered, d.expires_at, d.dead_reason`;
  const selectRow = db.prepare(`
    select ${ofDelivery}, e.priority, e.ordering_key
    from deliveries d join events e on e.seq = d.event_seq where d.event_seq = ? and d.subscription_seq = ?`);
  const selectWithoutEvent = db.prepare(`
    select ${ofDelivery}, ${NORMAL} as priority, null as ordering_key
    from deliveries d where d.event_seq = ? and d.subscription_seq = ?`);
  const selectOpen = db.prepare(`
    select * from deliveries where event_seq = ? and state in (${STATE.pending}, ${STATE.sending}) limit ?`);
  const endRow = db.prepare(`
    update deliveries set state = ?, attempt_count = ?, rank = null, next_attempt_at = null, queued_key = ?,
      completed_at = ?, dead_reason = ?, last_error = ?
    where event_seq = ? and subscription_seq = ?`);
  const dueRow = db.prepare(`
    update deliveries set state = ?, generation = ?, attempt_count = ?, uncounted_attempts = ?, recoveries = ?,
      next_attempt_at = ?, next_trigger = ?, rank = ?, early = ?, last_error = ?, completed_at = null, dead_reason = null
    where event_seq = ? and subscription_seq = ?`);
  const releaseRow = db.prepare(`
    update deliveries set state = ${RELEASE.to}
    where event_seq = ? and subscription_seq = ? and state in ${RELEASE.from} and generation = ?
    returning queued_key, rank, next_attempt_at`);
  const reopenRow = db.prepare(`
    update deliveries set state = ?, generation = generation + 1, uncounted_attempts = attempt_count, recoveries = 0,
      next_attempt_at = ?, next_trigger = ?, rank = ?, early = 0, queued_key = ?, ordered = ?, expires_at = ?, last_error = null,
      completed_at = null, dead_reason = null
    where event_seq = ? and subscription_seq = ?`);
  const findHindrance = db.prepare(`
    select 1 from deliveries where subscription_seq = ?1 and queued_key = ?2 and event_seq <> ?3
      and (event_seq < ?3 or rank is not null) limit 1`);
  const selectFirstOfKey = db.prepare(`
    select d.event_seq, d.state, d.rank, d.next_attempt_at
    from deliveries d where d.subscription_seq = ? and d.queued_key = ? order by d.event_seq limit 1`);
  const selectPriority = db.prepare("select priority from events where seq = ?");
  const setRank = db.prepare("update deliveries set rank = ? where event_seq = ? and subscription_seq = ?");

  const stepBackRows = db.prepare(`
    update deliveries set rank = null
    where subscription_seq = ? and queued_key = ? and event_seq > ? and state = ${STATE.pending} and rank is not null`);

  /** Lets the first delivery of an ordering key into the lane, if nothing blocks it. */
  function moveUp(subscriptionSeq: number, key: string): KeyFollower | undefined {
    const first = unreadable.watchKey(subscriptionSeq, key, () => findNext(subscriptionSeq, key));
    if (first === undefined) return undefined;
    const eventSeq = first.event_seq;
    const rank = rankOf(first.next_attempt_at ?? 0, priorityOf(eventSeq, subscriptionSeq), false);
    unreadable.watchKey(subscriptionSeq, key, () => setRank.run(rank, eventSeq, subscriptionSeq));
    return { eventSeq, subscriptionSeq };
  }

  function findNext(subscriptionSeq: number, key: string): FirstOfKey | undefined {
    const first = selectFirstOfKey.get(subscriptionSeq, key) as unknown as FirstOfKey | undefined;
    if (first === undefined || first.state !== STATE.pending || first.rank !== null) return undefined;
    return isNext(subscriptionSeq, key, first.event_seq) ? first : undefined;
  }

  function priorityOf(eventSeq: number, subscriptionSeq: number): Priority {
    if (unreadable.findEvent(eventSeq) !== undefined) return "normal";
    const row = unreadable.watch(eventSeq, subscriptionSeq, () => selectPriority.get(eventSeq));
    return PRIORITIES[(row as Pick<DeliveryRow, "priority"> | undefined)?.priority ?? NORMAL] ?? "normal";
  }

  /** Whether a delivery may go: no other of its ordering key is active, and no earlier one blocks it. */
  function isNext(subscriptionSeq: number, key: string, eventSeq: number): boolean {
    return findHindrance.get(subscriptionSeq, key, eventSeq) === undefined;
  }

  /** If the row of its event cannot be read, the delivery has the usual priority and no ordering key. */
  function find(eventSeq: number, subscriptionSeq: number): DeliveryRow | undefined {
    const select = unreadable.findEvent(eventSeq) === undefined ? selectRow : selectWithoutEvent;
    return unreadable.watch(eventSeq, subscriptionSeq, () => select.get(eventSeq, subscriptionSeq)) as
      | DeliveryRow
      | undefined;
  }

  return {
    find,
    /** The first of an event's deliveries that have not ended, without priority and ordering key. */
    findOpen: (eventSeq: number, limit: number) => selectOpen.all(eventSeq, limit) as unknown as DeliveryRow[],

    /** Ends a delivery. Returns the delivery of the same ordering key that moved up, if any. */
    end(row: DeliveryRow, state: EndState, options: EndOptions = {}): KeyFollower | undefined {
      const { event_seq: eventSeq, subscription_seq: subscriptionSeq, queued_key: key } = row;
      endRow.run(
        move(row, ENDS[state]),
        options.attemptCount ?? row.attempt_count,
        state === "dead" && options.leavesKeyQueue === false ? key : null,
        options.endedAt ?? at.wall,
        options.deadReason ?? null,
        options.error ?? null,
        eventSeq,
        subscriptionSeq,
      );
      uncount(row);
      counters.addDelivery(subscriptionSeq, state, 1);
      // Even behind a blocking dead letter: a reopened delivery may come before it.
      return key === null ? undefined : moveUp(subscriptionSeq, key);
    },

    /**
     * Puts a delivery back into its lane, due at `dueAt`. One that was sent together with an earlier one of its ordering
     * key goes back behind that one, if it is still there.
     */
    makeDue(row: DeliveryRow, dueAt: number, trigger: AttemptTrigger, change: DueChange): void {
      const isRetry = change.attemptCount > change.uncountedAttempts;
      const { queued_key: key } = row;
      const isBehind = row.rank === null && key !== null && !isNext(row.subscription_seq, key, row.event_seq);
      dueRow.run(
        move(row, change.act),
        change.generation,
        change.attemptCount,
        change.uncountedAttempts,
        change.recoveries,
        // Its head decides when both go.
        isBehind ? (row.next_attempt_at ?? dueAt) : dueAt,
        ATTEMPT_TRIGGERS.indexOf(trigger),
        isBehind ? null : rankOf(dueAt, PRIORITIES[row.priority] ?? "normal", isRetry),
        EARLY[change.nextTry ?? "free"],
        change.error ?? null,
        row.event_seq,
        row.subscription_seq,
      );
      uncount(row);
    },

    /** Puts a delivery that was claimed but not sent back into its lane, if it has not changed. */
    release(eventSeq: number, subscriptionSeq: number, generation: number): void {
      const row = releaseRow.get(eventSeq, subscriptionSeq, generation) as unknown as ReleasedRow | undefined;
      // Those before it in its ordering key may have ended meanwhile.
      if (row !== undefined && row.queued_key !== null && row.rank === null) {
        moveUp(subscriptionSeq, row.queued_key);
      }
    },

    /** Reopens an ended delivery in the next generation; an ordered one goes where its ordering key allows. */
    reopen(
      row: DeliveryRow,
      now: number,
      trigger: AttemptTrigger,
      { ordered, expiresAt, isBulk }: ReopenOptions,
    ): void {
      const { event_seq: eventSeq, subscription_seq: subscriptionSeq } = row;
      const key = ordered ? (row.ordering_key ?? "") : null;
      const mayGo = key === null || isNext(subscriptionSeq, key, eventSeq);
      reopenRow.run(
        move(row, "replay"),
        now,
        ATTEMPT_TRIGGERS.indexOf(trigger),
        mayGo ? (isBulk === true ? rankOfReplay(now) : rankOf(now, PRIORITIES[row.priority] ?? "normal", false)) : null,
        key,
        ordered ? 1 : 0,
        expiresAt ?? null,
        eventSeq,
        subscriptionSeq,
      );
      uncount(row);
      if (row.queued_key !== null && key === null) moveUp(subscriptionSeq, row.queued_key);
    },

    moveUp,
    /** Takes waiting deliveries of an ordering key that are later than this event out of the lane. */
    stepBack(subscriptionSeq: number, key: string, eventSeq: number): void {
      stepBackRows.run(subscriptionSeq, key, eventSeq);
    },
    isNext,
  };

  /** The counters of end states count the deliveries that are in that state now or were in it when they were pruned. */
  function uncount(row: DeliveryRow): void {
    if (row.state === STATE.delivered) counters.addDelivery(row.subscription_seq, "delivered", -1);
    if (row.state === STATE.dead) counters.addDelivery(row.subscription_seq, "dead", -1);
    if (row.state === STATE.cancelled) counters.addDelivery(row.subscription_seq, "cancelled", -1);
  }
}

export type Moves = ReturnType<typeof createMoves>;

type ReleasedRow = Pick<DeliveryRow, "queued_key" | "rank" | "next_attempt_at">;

interface FirstOfKey {
  event_seq: number;
  state: number;
  rank: number | null;
  next_attempt_at: number | null;
}

/** `deadReason`: why the delivery cannot be accepted here, if that is why it moves: it is not moved here again. */
type MovedEnd = Pick<EndOptions, "endedAt" | "attemptCount" | "deadReason">;

export function createMoveOver(moves: Moves, accept: Pick<Accept, "addDelivery">, at: Readonly<BatchTime>) {
  function open(row: DeliveryRow, { subscriptionSeq, ordered }: MoveTo): void {
    const { event_seq: eventSeq } = row;
    // The new delivery keeps the expiry time.
    const expiresAt = row.expires_at ?? undefined;
    // Later deliveries of the key may already be waiting there.
    if (ordered) moves.stepBack(subscriptionSeq, row.ordering_key ?? "", eventSeq);
    const known = moves.find(eventSeq, subscriptionSeq);
    if (known === undefined) {
      const priority = PRIORITIES[row.priority] ?? "normal";
      const to = { eventSeq, dueAt: at.now, priority, orderingKey: row.ordering_key ?? undefined };
      accept.addDelivery(to, { subscriptionSeq, ordered, expiresAt }, at.wall);
    } else if (isTerminal(stateOf(known))) {
      moves.reopen(known, at.now, "retry", { ordered, expiresAt });
    }
  }

  function moveOne(row: DeliveryRow, to: MoveTo, end: MovedEnd): KeyFollower | undefined {
    open(row, to);
    return moves.end(row, "cancelled", { ...end, error: describeMove(row.event_seq, to.subscriptionSeq) });
  }

  return {
    /** False when the other subscription could not accept the delivery before, or has nothing left to do for it. */
    isPossible({ event_seq: eventSeq }: DeliveryRow, { subscriptionSeq, isReturn = false }: MoveTo): boolean {
      const known = moves.find(eventSeq, subscriptionSeq);
      if (known === undefined) return true;
      return isReturn ? known.state !== STATE.delivered && known.state !== STATE.dead : known.dead_reason === null;
    },
    /**
     * Moves a delivery to another subscription: here it is cancelled and names the other delivery, which is due at once.
     * Returns the delivery that moved up in its ordering key.
     */
    move(row: DeliveryRow, to: MoveTo, end: MovedEnd = {}): KeyFollower | undefined {
      let follower = moveOne(row, to, end);
      // Otherwise those behind it would overtake it here.
      while (to.isReturn === true && to.ordered && follower !== undefined) {
        const next = moves.find(follower.eventSeq, follower.subscriptionSeq);
        if (next === undefined) break;
        follower = moveOne(next, to, { ...end, attemptCount: next.attempt_count, deadReason: undefined });
      }
      return follower;
    },
  };
}

export type MoveOver = ReturnType<typeof createMoveOver>;

const PURGED = "purged from the dead letters";

/** A dead letter that was given up is cancelled, and nothing is kept of its attempts. */
export function createPurge(db: Database, moves: Moves): (row: DeliveryRow) => void {
  const attempts = createAttempts(db);
  return (row) => {
    moves.end(row, "cancelled", { error: PURGED });
    attempts.deleteAll({ eventSeq: row.event_seq, subscriptionSeq: row.subscription_seq });
  };
}
