import { isTerminal, nextState, type DeliveryState, MAX_RANK_OFFSET_MS, STATE } from "../../model/delivery.ts";
import { formatDeliveryId } from "../../model/ids.ts";
import { isRefused, refuse, type Refused } from "../../model/errors.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { DeadDelivery, DeliveryChange, DeliveryKey, LaneChange, LaneChanged, MoveTo } from "../port/lanes.ts";
import type { Accept } from "./accept.ts";
import type { Database } from "./connection.ts";
import { createPurge, EARLY, stateOf, type DeliveryRow, type Moves } from "./move.ts";
import { deadColumns, unlessEmpty } from "./claim.ts";
import type { CommandParts } from "./commands.ts";
import { SENDING_ROWS } from "./sending.ts";

type Changed = DeliveryState | Refused | undefined;

/** Changes by an operator to one delivery. */
export function createDeliveryChanges(db: Database, moves: Moves, accept: Accept, at: Readonly<BatchTime>) {
  const giveUp = createPurge(db, moves);

  function retry(row: DeliveryRow): Changed {
    const state = stateOf(row);
    if (isTerminal(state)) {
      // An expiry time in the past would end the delivery again at once.
      const expiresAt = row.expiresAt !== null && row.expiresAt > at.now ? row.expiresAt : undefined;
      moves.reopen(row, "manual", { ordered: row.ordered === 1, expiresAt });
      return state;
    }
    if (state === "sending") return reject("The delivery cannot be retried: it is being sent now.");
    if (row.rank === null) {
      return reject("The delivery cannot be retried: an earlier one with the same ordering key must be sent first.");
    }
    moves.makeDue(row, at.now, { act: "bring_forward" });
    return state;
  }

  function cancel(row: DeliveryRow): Changed {
    const state = stateOf(row);
    const next = nextState(state, "cancel");
    if (isRefused(next)) return next;
    if (state === "dead" && row.queuedKey === null) {
      return reject("A dead letter can be cancelled only while it blocks its ordering key.");
    }
    moves.end(row, "cancelled");
    return state;
  }

  function purge(row: DeliveryRow): Changed {
    const state = stateOf(row);
    if (state !== "dead") return reject(`The delivery is ${state}, not dead.`);
    giveUp(row);
    return state;
  }

  function replay(row: DeliveryRow, change: Replay): Changed {
    const state = stateOf(row);
    const next = nextState(state, "replay");
    if (isRefused(next)) return next;
    moves.reopen(row, "replay", change);
    return state;
  }

  /** The event never had this delivery. */
  function make({ eventSeq, subscriptionSeq }: DeliveryKey, { ordered, expiresAt }: Replay): Changed {
    const to = accept.findTarget(eventSeq);
    if (to === undefined) return refuse("not_found", "The event of this delivery no longer exists.");
    accept.addDelivery({ ...to, dueAt: at.now }, { subscriptionSeq, ordered, expiresAt }, at.wall);
    return undefined;
  }

  const ACTS = { retry, cancel, purge } as const;
  return (key: DeliveryKey, change: DeliveryChange): Changed => {
    const row = moves.find(key.eventSeq, key.subscriptionSeq);
    if (change.act === "replay") return row === undefined ? make(key, change) : replay(row, change);
    if (row === undefined) {
      return refuse("not_found", `There is no delivery ${formatDeliveryId(key.eventSeq, key.subscriptionSeq)}.`);
    }
    return ACTS[change.act](row);
  };
}

function reject(message: string): Refused {
  return refuse("illegal_transition", message);
}

type Replay = Extract<DeliveryChange, { act: "replay" }>;

const STEP = 500;

const SKIPPED = "skipped when the subscription was resumed";
const HELD_TOO_LONG = "it was held for longer than held_max_days";

/** The other lane (?3) could accept the delivery, as far as is known. */
const MAY_GO_THERE = `not exists (
  select 1 from deliveries other
  where other.event_seq = deliveries.event_seq and other.subscription_seq = ?3 and other.dead_reason is not null)`;

/** Changes to the waiting deliveries of one lane. */
export function createLaneChanges(
  db: Database,
  { at, moves, moveOver, claim }: Pick<CommandParts, "at" | "moves" | "moveOver" | "claim">,
) {
  const selectOpen = db.prepare(`
    select event_seq from deliveries where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null
    union all select event_seq from (${SENDING_ROWS}) where subscription_seq = ?1
    union all select event_seq from deliveries
    where subscription_seq = ?1 and queued_key is not null and rank is null and state <> ${STATE.sending}
    limit ${STEP}`);
  const countOfJob = db.prepare(`
    update replays set done = done + ?1, total = max(total, done + ?1)
    where lane_seq = ?2 and status in ('running', 'paused')`);
  const selectDeadHeads = db.prepare(`
    select event_seq from deliveries
    where subscription_seq = ? and queued_key is not null and state = ${STATE.dead} limit ${STEP}`);
  const leaveKeyQueue = db.prepare(
    "update deliveries set queued_key = null where event_seq = ? and subscription_seq = ?",
  );
  const selectLastEvent = db.prepare("select max(seq) as seq from events");
  /** What waits in the lane (?1): the heads of ordering keys and what has none, and what is behind a head. */
  const waiting = (columns: string, condition: string, ofHeads = condition) => `
    select ${columns} from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and ${ofHeads}
    union all
    select ${columns} from deliveries
    where subscription_seq = ?1 and queued_key is not null and rank is null and state = ${STATE.pending} and ${condition}
    limit ${STEP}`;
  // A first attempt that is not due yet was scheduled for later: it is not held.
  const isHeld = "event_seq <= ?2 and (attempt_count > 0 or next_attempt_at <= ?3)";
  const selectHeld = db.prepare(waiting("event_seq", isHeld));
  const isOverdue = "next_attempt_at <= ?2";
  const ofOverdueHeads = `rank <= ?2 + ${MAX_RANK_OFFSET_MS} and ${isOverdue}`;
  const overdue = waiting("event_seq, subscription_seq, attempt_count", isOverdue, ofOverdueHeads);
  const selectOverdue = db.prepare(`
    select ${deadColumns("held_too_long", "held")}
    from (${overdue}) held
    join events e on e.seq = held.event_seq`);
  // A rank is never before the due time, so overdue deliveries are not scanned. The offset between rank and due time
  // stays.
  const prepareHasten = (only: string) =>
    db.prepare(`
    update deliveries set next_attempt_at = ?2, rank = rank - next_attempt_at + ?2, early = ${EARLY.broughtForward}
    where subscription_seq = ?1 and event_seq in (
      select d.event_seq from deliveries d
      where d.subscription_seq = ?1 and d.state = ${STATE.pending} and d.rank is not null and d.rank > ?2 and d.next_attempt_at > ?2
        and d.attempt_count > 0 ${only} order by d.rank limit min(?3, ${STEP}))`);
  const hastenAny = prepareHasten("");
  const hastenFresh = prepareHasten(`and d.early = ${EARLY.free}`);
  const hastenKept = prepareHasten(
    `and d.early = ${EARLY.kept} and (select e.source from events e where e.seq = d.event_seq) = ?4`,
  );

  // Only the head of an ordering key has a rank; its followers are moved after it.
  const selectMovable = db.prepare(`
    select event_seq from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null
      and (attempt_count > 0 or next_attempt_at <= ?2) and ${MAY_GO_THERE}
    order by rank limit ${STEP}`);
  const fromLaterMoves = `
    from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null
      and attempt_count = 0 and next_attempt_at > ?2 and ${MAY_GO_THERE}`;
  const selectNextMove = db.prepare(`
    select min(next_attempt_at) as at ${fromLaterMoves}
      and rank <= ${MAX_RANK_OFFSET_MS} + (select min(rank) ${fromLaterMoves})`);

  function getRow(eventSeq: number, subscriptionSeq: number): DeliveryRow {
    const row = moves.find(eventSeq, subscriptionSeq);
    if (row !== undefined) return row;
    throw new Error(`the delivery ${formatDeliveryId(eventSeq, subscriptionSeq)} is gone while it is being changed`);
  }

  function rowsOf(found: { event_seq: number }[], subscriptionSeq: number): DeliveryRow[] {
    return found.map(({ event_seq }) => getRow(event_seq, subscriptionSeq));
  }

  function skipDeadHead(row: DeliveryRow): void {
    leaveKeyQueue.run(row.eventSeq, row.subscriptionSeq);
    if (row.queuedKey !== null) moves.moveUp(row.subscriptionSeq, row.queuedKey);
  }

  function cancelOpen(seq: number): LaneChanged {
    const rows = rowsOf(selectOpen.all(seq), seq);
    let cancelled = 0;
    for (const row of rows) {
      if (stateOf(row) === "dead") {
        skipDeadHead(row);
      } else {
        moves.end(row, "cancelled");
        cancelled++;
      }
    }
    if (cancelled > 0) countOfJob.run(cancelled, seq);
    return { changed: rows.length };
  }

  function skipHeld(seq: number, upTo: number | undefined): LaneChanged {
    const last: number = upTo ?? selectLastEvent.get().seq ?? 0;
    const rows = rowsOf(selectHeld.all(seq, last, at.now), seq);
    for (const row of rows) moves.end(row, "cancelled", { error: SKIPPED });
    return { changed: rows.length, upTo: last };
  }

  function giveUpHeld(seq: number, dueBefore: number): LaneChanged {
    const dead: DeadDelivery[] = selectOverdue.all(seq, dueBefore);
    const end = { deadReason: "held_too_long", error: HELD_TOO_LONG } as const;
    let movedUp = false;
    for (const { eventSeq } of dead) {
      if (moves.end(getRow(eventSeq, seq), "dead", end) !== undefined) movedUp = true;
    }
    return { changed: dead.length, dead: unlessEmpty(dead), movedUp };
  }

  function hasten(seq: number, { limit = STEP, onlyFresh, keptOf }: Extract<LaneChange, { act: "hasten" }>) {
    const { now } = at;
    if (keptOf !== undefined) return hastenKept.run(seq, now, limit, keptOf);
    return (onlyFresh === true ? hastenFresh : hastenAny).run(seq, now, limit);
  }

  function skipDeadHeads(seq: number): LaneChanged {
    const heads = rowsOf(selectDeadHeads.all(seq), seq);
    for (const row of heads) skipDeadHead(row);
    return { changed: heads.length };
  }

  function mayMove({ attemptCount, nextAttemptAt }: DeliveryRow): boolean {
    return attemptCount > 0 || (nextAttemptAt ?? at.now) <= at.now;
  }

  function move(seq: number, to: MoveTo): LaneChanged {
    const { subscriptionSeq } = to;
    let changed = 0;
    for (const head of rowsOf(selectMovable.all(seq, at.now, subscriptionSeq), seq)) {
      for (let row: DeliveryRow | undefined = head; row !== undefined && changed < STEP;) {
        if (!mayMove(row) || !moveOver.isPossible(row, to)) break;
        const follower = moveOver.move(row, to);
        changed++;
        row = follower && getRow(follower.eventSeq, seq);
      }
    }
    const nextMoveAt = changed > 0 ? at.now : (selectNextMove.get(seq, at.now, subscriptionSeq).at ?? undefined);
    return { changed, nextDueAt: claim.nextDueAt(seq), nextMoveAt };
  }

  return (seq: number, change: LaneChange): LaneChanged => {
    switch (change.act) {
      case "cancel":
        return cancelOpen(seq);
      case "skip_held":
        return skipHeld(seq, change.upTo);
      case "give_up_held":
        return giveUpHeld(seq, change.dueBefore);
      case "hasten":
        return { changed: hasten(seq, change).changes };
      case "skip_dead_heads":
        return skipDeadHeads(seq);
      case "move":
        return move(seq, change.to);
    }
  };
}
