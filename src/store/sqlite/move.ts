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
import type { NewDelivery } from "../port/event-log.ts";
import { ATTEMPT_TRIGGERS, type AttemptTrigger, type DeliveryKey, type MoveTo } from "../port/lanes.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import { toPriority, type UnreadableRows } from "./checked-rows.ts";
import { asFields } from "./query-rows.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Accept } from "./accept.ts";
import { createAttempts } from "./attempts.ts";

export interface DeliveryRow extends DeliveryKey {
  state: number;
  generation: number;
  attemptCount: number;
  uncountedAttempts: number;
  recoveries: number;
  nextAttemptAt: number | null;
  rank: number | null;
  early: number;
  queuedKey: string | null;
  ordered: number;
  expiresAt: number | null;
  deadReason: string | null;
  priority: number;
  orderingKey: string | null;
}

/** The columns of a `DeliveryRow` that are in the table `deliveries`. */
export const OF_DELIVERY = asFields(`d.event_seq, d.subscription_seq, d.state, d.generation, d.attempt_count,
  d.uncounted_attempts, d.recoveries, d.next_attempt_at, d.rank, d.early, d.queued_key, d.ordered, d.expires_at,
  d.dead_reason`);

type EndState = "delivered" | "dead" | "cancelled";

const ENDS = { delivered: "succeed", dead: "give_up", cancelled: "cancel" } as const satisfies Record<
  EndState,
  DeliveryAction
>;

export function stateOf(row: Pick<DeliveryRow, "state">): DeliveryState {
  return DELIVERY_STATES[row.state] ?? "pending";
}

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

interface ReopenOptions extends Pick<NewDelivery, "ordered" | "expiresAt"> {
  /** Part of a bulk replay: it goes behind all other due deliveries. */
  isBulk?: boolean;
}

/** How a delivery becomes due. Counts that are not given stay as they are in its row. */
interface DueChange extends Partial<Pick<DeliveryRow, "attemptCount" | "uncountedAttempts" | "recoveries">> {
  act: "retry" | "recover" | "bring_forward";
  /** The time of the next attempt stays fixed. */
  keepsTime?: boolean;
  error?: string | undefined;
}

const RELEASE = statesOf("release");

export const EARLY = { free: 0, broughtForward: 1, kept: 2 } as const;

const NORMAL = PRIORITIES.indexOf("normal");

/** How a delivery changes its state and place. An act that its state does not allow is rejected. */
export function createMoves(
  db: Database,
  counters: CounterDeltas,
  unreadable: UnreadableRows,
  at: Readonly<BatchTime>,
) {
  const selectRow = db.prepare(`
    select ${OF_DELIVERY}, e.priority, e.ordering_key as orderingKey
    from deliveries d join events e on e.seq = d.event_seq where d.event_seq = ? and d.subscription_seq = ?`);
  const selectWithoutEvent = db.prepare(`
    select ${OF_DELIVERY}, ${NORMAL} as priority, null as orderingKey
    from deliveries d where d.event_seq = ? and d.subscription_seq = ?`);
  const selectOpen = db.prepare(`
    select ${OF_DELIVERY} from deliveries d
    where event_seq = ? and state in (${STATE.pending}, ${STATE.sending}) limit ?`);
  const endRow = db.prepare(`
    update deliveries set state = ?, attempt_count = ?, rank = null, next_attempt_at = null, queued_key = ?,
      completed_at = ?, dead_reason = ?, last_error = ?
    where event_seq = ? and subscription_seq = ?`);
  const dueRow = db.prepare(`
    update deliveries set state = ?, attempt_count = ?, uncounted_attempts = ?, recoveries = ?, next_attempt_at = ?,
      next_trigger = ?, rank = ?, early = ?, last_error = ?, completed_at = null, dead_reason = null
    where event_seq = ? and subscription_seq = ?`);
  const releaseRow = db.prepare(`
    update deliveries set state = ${RELEASE.to}
    where event_seq = ? and subscription_seq = ? and state in ${RELEASE.from} and generation = ?
    returning queued_key as queuedKey, rank`);
  const reopenRow = db.prepare(`
    update deliveries set state = ?, generation = generation + 1, uncounted_attempts = attempt_count, recoveries = 0,
      next_attempt_at = ?, next_trigger = ?, rank = ?, early = 0, queued_key = ?, ordered = ?, expires_at = ?, last_error = null,
      completed_at = null, dead_reason = null
    where event_seq = ? and subscription_seq = ?`);
  const findHindrance = db.prepare(`
    select 1 from deliveries where subscription_seq = ?1 and queued_key = ?2 and event_seq <> ?3
      and (event_seq < ?3 or rank is not null) limit 1`);
  const selectFirstOfKey = db.prepare(`
    select event_seq as eventSeq, state, rank, next_attempt_at as nextAttemptAt
    from deliveries where subscription_seq = ? and queued_key = ? order by event_seq limit 1`);
  const selectPriority = db.prepare("select priority from events where seq = ?");
  const setRank = db.prepare("update deliveries set rank = ? where event_seq = ? and subscription_seq = ?");

  const stepBackRows = db.prepare(`
    update deliveries set rank = null
    where subscription_seq = ? and queued_key = ? and event_seq > ? and state = ${STATE.pending} and rank is not null`);

  /** Lets the first delivery of an ordering key into the lane, if nothing blocks it. */
  function moveUp(subscriptionSeq: number, key: string): DeliveryKey | undefined {
    const first = unreadable.watchKey(subscriptionSeq, key, () => findNext(subscriptionSeq, key));
    if (first === undefined) return undefined;
    const { eventSeq, nextAttemptAt } = first;
    const rank = rankOf(nextAttemptAt ?? 0, priorityOf(eventSeq, subscriptionSeq), false);
    unreadable.watchKey(subscriptionSeq, key, () => setRank.run(rank, eventSeq, subscriptionSeq));
    return { eventSeq, subscriptionSeq };
  }

  function findNext(subscriptionSeq: number, key: string): FirstOfKey | undefined {
    const first: FirstOfKey | undefined = selectFirstOfKey.get(subscriptionSeq, key);
    if (first === undefined || first.state !== STATE.pending || first.rank !== null) return undefined;
    return isNext(subscriptionSeq, key, first.eventSeq) ? first : undefined;
  }

  function priorityOf(eventSeq: number, subscriptionSeq: number): Priority {
    if (unreadable.findEvent(eventSeq) !== undefined) return "normal";
    const read = (): Pick<DeliveryRow, "priority"> | undefined => selectPriority.get(eventSeq);
    return toPriority(unreadable.watch(eventSeq, subscriptionSeq, read)?.priority ?? NORMAL);
  }

  /** Whether a delivery may go: no other of its ordering key is active, and no earlier one blocks it. */
  function isNext(subscriptionSeq: number, key: string, eventSeq: number): boolean {
    return findHindrance.get(subscriptionSeq, key, eventSeq) === undefined;
  }

  /** If the row of its event cannot be read, the delivery has the usual priority and no ordering key. */
  function find(eventSeq: number, subscriptionSeq: number): DeliveryRow | undefined {
    const select = unreadable.findEvent(eventSeq) === undefined ? selectRow : selectWithoutEvent;
    return unreadable.watch(eventSeq, subscriptionSeq, () => select.get(eventSeq, subscriptionSeq));
  }

  return {
    find,
    /** The first of an event's deliveries that have not ended, without priority and ordering key. */
    findOpen: (eventSeq: number, limit: number): DeliveryRow[] => selectOpen.all(eventSeq, limit),

    /** Ends a delivery. Returns the delivery of the same ordering key that moved up, if any. */
    end(row: DeliveryRow, state: EndState, options: EndOptions = {}): DeliveryKey | undefined {
      const { eventSeq, subscriptionSeq, queuedKey: key } = row;
      endRow.run(
        move(row, ENDS[state]),
        options.attemptCount ?? row.attemptCount,
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

    /** Puts a delivery back into its lane; behind an earlier one of its ordering key that it was sent with. */
    makeDue(row: DeliveryRow, dueAt: number, change: DueChange): void {
      const { eventSeq, subscriptionSeq, queuedKey: key } = row;
      const { attemptCount = row.attemptCount, uncountedAttempts = row.uncountedAttempts } = change;
      const isBehind = row.rank === null && key !== null && !isNext(subscriptionSeq, key, eventSeq);
      dueRow.run(
        move(row, change.act),
        attemptCount,
        uncountedAttempts,
        change.recoveries ?? row.recoveries,
        // Its head decides when both go.
        isBehind ? (row.nextAttemptAt ?? dueAt) : dueAt,
        ATTEMPT_TRIGGERS.indexOf(change.act === "bring_forward" ? "manual" : "retry"),
        isBehind ? null : rankOf(dueAt, toPriority(row.priority), attemptCount > uncountedAttempts),
        change.keepsTime === true ? EARLY.kept : EARLY.free,
        change.error ?? null,
        eventSeq,
        subscriptionSeq,
      );
      uncount(row);
    },

    /** Puts a delivery that was claimed but not sent back into its lane, if it has not changed. */
    release(eventSeq: number, subscriptionSeq: number, generation: number): void {
      type Released = Pick<DeliveryRow, "queuedKey" | "rank"> | undefined;
      const row: Released = releaseRow.get(eventSeq, subscriptionSeq, generation);
      // Those before it in its ordering key may have ended meanwhile.
      if (row !== undefined && row.queuedKey !== null && row.rank === null) moveUp(subscriptionSeq, row.queuedKey);
    },

    /** Reopens an ended delivery in the next generation; an ordered one goes where its ordering key allows. */
    reopen(row: DeliveryRow, trigger: AttemptTrigger, { ordered, expiresAt, isBulk }: ReopenOptions): void {
      const { now } = at;
      const { eventSeq, subscriptionSeq } = row;
      const key = ordered ? (row.orderingKey ?? "") : null;
      const mayGo = key === null || isNext(subscriptionSeq, key, eventSeq);
      const rank = isBulk === true ? rankOfReplay(now) : rankOf(now, toPriority(row.priority), false);
      reopenRow.run(
        move(row, "replay"),
        now,
        ATTEMPT_TRIGGERS.indexOf(trigger),
        mayGo ? rank : null,
        key,
        ordered ? 1 : 0,
        expiresAt ?? null,
        eventSeq,
        subscriptionSeq,
      );
      uncount(row);
      if (row.queuedKey !== null && key === null) moveUp(subscriptionSeq, row.queuedKey);
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
    const state = stateOf(row);
    if (state !== "pending" && state !== "sending") counters.addDelivery(row.subscriptionSeq, state, -1);
  }
}

export type Moves = ReturnType<typeof createMoves>;

type FirstOfKey = Pick<DeliveryRow, "eventSeq" | "state" | "rank" | "nextAttemptAt">;

/** `deadReason`: why the delivery cannot be accepted here, if that is why it moves: it is not moved here again. */
type MovedEnd = Pick<EndOptions, "endedAt" | "attemptCount" | "deadReason">;

export function createMoveOver(moves: Moves, accept: Pick<Accept, "addDelivery">, at: Readonly<BatchTime>) {
  function open(row: DeliveryRow, { subscriptionSeq, ordered }: MoveTo): void {
    const { eventSeq } = row;
    // The new delivery keeps the expiry time.
    const expiresAt = row.expiresAt ?? undefined;
    // Later deliveries of the key may already be waiting there.
    if (ordered) moves.stepBack(subscriptionSeq, row.orderingKey ?? "", eventSeq);
    const known = moves.find(eventSeq, subscriptionSeq);
    if (known === undefined) {
      const orderingKey = row.orderingKey ?? undefined;
      const to = { eventSeq, dueAt: at.now, priority: toPriority(row.priority), orderingKey };
      accept.addDelivery(to, { subscriptionSeq, ordered, expiresAt }, at.wall);
    } else if (isTerminal(stateOf(known))) {
      moves.reopen(known, "retry", { ordered, expiresAt });
    }
  }

  function moveOne(row: DeliveryRow, to: MoveTo, end: MovedEnd): DeliveryKey | undefined {
    open(row, to);
    return moves.end(row, "cancelled", { ...end, error: describeMove(row.eventSeq, to.subscriptionSeq) });
  }

  return {
    /** False when the other subscription could not accept the delivery before, or has nothing left to do for it. */
    isPossible({ eventSeq }: DeliveryRow, { subscriptionSeq, isReturn = false }: MoveTo): boolean {
      const known = moves.find(eventSeq, subscriptionSeq);
      if (known === undefined) return true;
      return isReturn ? known.state !== STATE.delivered && known.state !== STATE.dead : known.deadReason === null;
    },
    /**
     * Moves a delivery to another subscription: here it is cancelled and names the other delivery, which is due at once.
     * Returns the delivery that moved up in its ordering key.
     */
    move(row: DeliveryRow, to: MoveTo, end: MovedEnd = {}): DeliveryKey | undefined {
      let follower = moveOne(row, to, end);
      // Otherwise those behind it would overtake it here.
      while (to.isReturn === true && to.ordered && follower !== undefined) {
        const next = moves.find(follower.eventSeq, follower.subscriptionSeq);
        if (next === undefined) break;
        follower = moveOne(next, to, { ...end, attemptCount: next.attemptCount, deadReason: undefined });
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
    attempts.deleteAll(row);
  };
}
