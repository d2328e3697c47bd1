import { ENDED, STATE, isTerminal, nextState, type DeadReason, type DeliveryState } from "../../domain/delivery.ts";
import { PRIORITIES } from "../../domain/event.ts";
import { formatDeliveryId } from "../../domain/ids.ts";
import { isRefused, refuse, type Refused } from "../../domain/refusal.ts";
import type { Deaths, DeliveryKey, WhichRetries } from "../store.ts";
import type { Accept } from "./accept.ts";
import type { Database } from "./connection.ts";
import { toDeaths, type DyingRow } from "./deaths.ts";
import { EARLY, stateOf, type DeliveryRow, type Moves } from "./move.ts";
import { SENDING_ROWS } from "./sending-rows.ts";

/** How many rows a bulk act changes in one transaction. */
const STEP = 500;

export function createActs(db: Database, moves: Moves, accept: Accept) {
  const selectLane = db.prepare(`
    select event_seq from deliveries where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null
    union all select event_seq from (${SENDING_ROWS}) where subscription_seq = ?1
    union all select event_seq from deliveries where subscription_seq = ?1 and queued_key is not null and rank is null
    limit ${STEP}`);
  const selectDeadHeads = db.prepare(`
    select event_seq from deliveries where subscription_seq = ? and queued_key is not null and state = ${STATE.dead}`);
  const leaveKeyQueue = db.prepare(
    "update deliveries set queued_key = null where event_seq = ? and subscription_seq = ?",
  );
  const selectExpired = db.prepare(`
    select d.event_seq, d.subscription_seq, d.attempt_count, e.id, e.type
    from deliveries d join events e on e.seq = d.event_seq
    where d.expires_at is not null and d.state < ${ENDED} and d.state = ${STATE.pending} and d.expires_at <= ?
    order by d.expires_at limit ${STEP}`);
  // A rank is never before the due time: what is due already need not be walked past. It keeps its distance from it.
  const prepareHasten = (only: string) =>
    db.prepare(`
    update deliveries set next_attempt_at = ?2, rank = rank - next_attempt_at + ?2, early = ${EARLY.broughtForward}
    where subscription_seq = ?1 and event_seq in (
      select d.event_seq from deliveries d
      where d.subscription_seq = ?1 and d.state = ${STATE.pending} and d.rank is not null and d.rank > ?2 and d.next_attempt_at > ?2
        and d.attempt_count > 0 ${only} order by d.rank limit min(?3, ${STEP}))`);
  const hasten = prepareHasten("");
  const hastenFresh = prepareHasten(`and d.early = ${EARLY.free}`);
  const hastenKept = prepareHasten(
    `and d.early = ${EARLY.kept} and (select e.source from events e where e.seq = d.event_seq) = ?4`,
  );
  const countOfJob = db.prepare(`
    update replays set done = done + ?1, total = max(total, done + ?1)
    where lane_seq = ?2 and status in ('running', 'paused')`);
  const selectEvent = db.prepare("select priority, ordering_key from events where seq = ?");
  const addToCount = db.prepare("update events set delivery_count = delivery_count + 1 where seq = ?");

  /** One that was found in this transaction. */
  function getRow(key: DeliveryKey): DeliveryRow {
    const row = moves.find(key.eventSeq, key.subscriptionSeq);
    if (row === undefined) throw new Error(`the delivery ${nameOf(key)} has gone while it was being changed`);
    return row;
  }

  function kill(row: DeliveryRow, reason: DeadReason, error: string, now: number) {
    return moves.end(row, "dead", {
      now,
      attemptCount: row.attempt_count,
      deadReason: reason,
      error,
      leavesKeyQueue: true,
    });
  }

  function skipDeadHead(row: DeliveryRow, now: number): void {
    leaveKeyQueue.run(row.event_seq, row.subscription_seq);
    if (row.queued_key !== null) moves.moveUp(row.subscription_seq, row.queued_key, now);
  }

  return {
    retryDelivery(key: DeliveryKey, now: number): DeliveryState | Refused {
      const row = moves.find(key.eventSeq, key.subscriptionSeq);
      if (row === undefined) return refuseUnknown(key);
      const state = stateOf(row);
      if (isTerminal(state)) {
        // A time that is over would end it again at once.
        const expiresAt = row.expires_at !== null && row.expires_at > now ? row.expires_at : undefined;
        moves.reopen(row, now, "manual", { ordered: row.ordered === 1, expiresAt });
      } else if (state === "pending" && row.rank !== null) {
        moves.makeDue(row, now, "manual", {
          act: "bring_forward",
          generation: row.generation,
          attemptCount: row.attempt_count,
          uncountedAttempts: row.uncounted_attempts,
          recoveries: row.recoveries,
          error: undefined,
        });
      } else {
        const why = state === "sending" ? "it is being sent now" : "another of its ordering key is ahead of it";
        return refuse("illegal_transition", `The delivery cannot be retried: ${why}.`);
      }
      return state;
    },

    cancelDelivery(key: DeliveryKey, now: number): Refused | undefined {
      const row = moves.find(key.eventSeq, key.subscriptionSeq);
      if (row === undefined) return refuseUnknown(key);
      const next = nextState(stateOf(row), "cancel");
      if (isRefused(next)) return next;
      if (stateOf(row) === "dead" && row.queued_key === null) {
        return refuse("illegal_transition", "A dead letter can be cancelled only while it blocks its ordering key.");
      }
      moves.end(row, "cancelled", { now, attemptCount: row.attempt_count, leavesKeyQueue: true });
      return undefined;
    },

    replay(
      key: DeliveryKey,
      options: { ordered: boolean; expiresAt: number | undefined },
      now: number,
    ): Refused | undefined {
      const row = moves.find(key.eventSeq, key.subscriptionSeq);
      if (row !== undefined) {
        const next = nextState(stateOf(row), "replay");
        if (isRefused(next)) return next;
        moves.reopen(row, now, "replay", options);
        return undefined;
      }
      const event = selectEvent.get(key.eventSeq) as { priority: number; ordering_key: string | null } | undefined;
      if (event === undefined) return refuse("not_found", "The event of this delivery no longer exists.");
      accept.insertDelivery(
        {
          eventSeq: key.eventSeq,
          dueAt: now,
          priority: PRIORITIES[event.priority] ?? "normal",
          orderingKey: event.ordering_key ?? undefined,
        },
        { subscriptionSeq: key.subscriptionSeq, claim: false, ...options },
        now,
      );
      addToCount.run(key.eventSeq);
      return undefined;
    },

    release(deliveries: readonly (DeliveryKey & { generation: number })[]): void {
      for (const d of deliveries) moves.release(d.eventSeq, d.subscriptionSeq, d.generation);
    },

    cancelLane(subscriptionSeq: number, now: number): number {
      const rows = selectLane.all(subscriptionSeq) as unknown as { event_seq: number }[];
      let cancelled = 0;
      for (const { event_seq } of rows) {
        const row = getRow({ eventSeq: event_seq, subscriptionSeq });
        if (stateOf(row) === "dead") {
          skipDeadHead(row, now);
        } else {
          moves.end(row, "cancelled", { now, attemptCount: row.attempt_count, leavesKeyQueue: true });
          cancelled++;
        }
      }
      if (cancelled > 0) countOfJob.run(cancelled, subscriptionSeq);
      return rows.length;
    },

    makeRetriesDue(subscriptionSeq: number, now: number, which: WhichRetries = {}): number {
      const { limit = STEP, onlyFresh = false, keptOf } = which;
      if (keptOf !== undefined) return hastenKept.run(subscriptionSeq, now, limit, keptOf).changes;
      return (onlyFresh ? hastenFresh : hasten).run(subscriptionSeq, now, limit).changes;
    },

    skipDeadHeads(subscriptionSeq: number, now: number): number {
      const heads = selectDeadHeads.all(subscriptionSeq) as unknown as { event_seq: number }[];
      for (const { event_seq } of heads) skipDeadHead(getRow({ eventSeq: event_seq, subscriptionSeq }), now);
      return heads.length;
    },

    expire(now: number): { expired: number; movedUp: number[] } & Deaths {
      const rows = selectExpired.all(now) as unknown as DyingRow[];
      const movedUp = new Set<number>();
      for (const { event_seq, subscription_seq } of rows) {
        if (expireOne(event_seq, subscription_seq, now) !== undefined) movedUp.add(subscription_seq);
      }
      return { expired: rows.length, movedUp: [...movedUp], deaths: toDeaths(rows, "expired") };
    },

    expireOne,
  };

  function expireOne(eventSeq: number, subscriptionSeq: number, now: number) {
    return kill(getRow({ eventSeq, subscriptionSeq }), "expired", "it was not delivered before its time was over", now);
  }
}

export type ActsOfStore = ReturnType<typeof createActs>;

function nameOf(key: DeliveryKey): string {
  return formatDeliveryId(key.eventSeq, key.subscriptionSeq);
}

function refuseUnknown(key: DeliveryKey): Refused {
  return refuse("not_found", `There is no delivery ${nameOf(key)}.`);
}
