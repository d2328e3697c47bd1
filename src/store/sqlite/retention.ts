import type { Ages } from "../../model/retention.ts";
import type { RetentionRules, PruneStep } from "../port/jobs.ts";
import { SEGMENTS, GROUP_BLOCKS, groupOf, BLOCK_EVENTS, blockOf } from "./event-blocks.ts";
import type { Database } from "./connection.ts";
import { STATE } from "../../model/delivery.ts";
import { BATCH_LIMITS } from "../commit/batch.ts";
import { createAttemptFormRemoval } from "./attempt-forms.ts";
import { createAttemptsOfEvents } from "./attempts.ts";
import { createEventRemoval, type RemovedEvent, type Walked } from "./event-removal.ts";
import { createDedupeKeys, type DedupeOptions } from "./event-ids.ts";
import type { RequestRing } from "./requests.ts";
import { MESSAGE_STATE } from "./taken-messages.ts";

type Place =
  | { kind: "block"; block: number; afterSeq: number; upToSeq: number }
  /** Nothing found so far; continue from here. */
  | { kind: "further"; afterSeq: number }
  | { kind: "end"; afterSeq: number };

/** The clock may have been set back by this much without an event being missed. */
const CLOCK_MARGIN_MS = 86_400_000;
const BELIEVED_MS = 86_400_000;
const MAX_SKIPS = 256;
const SWEPT_AT_ONCE = 16;

/** Goes over the log by blocks, skips those in which nothing is due, and removes the index rows of empty ones. */
function createRetentionWalk(db: Database) {
  const selectNext = db.prepare("select seq, received_at as receivedAt from events where seq > ? order by seq limit 1");
  const selectBlock = db.prepare(
    "select min_received_at as receivedAt from event_blocks where segment = 0 and block = ?",
  );
  const selectOne = db.prepare("select 1 from events where seq between ? and ? limit 1");
  const removeBlocks = db.prepare(`
    delete from event_blocks where segment = ?1 and block in (
      select block from event_blocks where segment = ?1 and block >= ?2 and block < ?3 limit ${SWEPT_AT_ONCE})`);
  const removeGroups = db.prepare(`
    delete from event_block_groups where segment = ?1 and block_group in (
      select block_group from event_block_groups
      where segment = ?1 and block_group >= ?2 and block_group < ?3 limit ${SWEPT_AT_ONCE})`);

  let believed: { rules: string; since: number } | undefined;
  /** When something in a block is due, according to the last walk. A walk that was rolled back does not count. */
  const resting = new Map<number, number>();
  const found = new Map<number, number>();
  let current = { block: -1, dueAt: Number.POSITIVE_INFINITY };

  /** Removes the index rows of empty blocks. Blocks that are still being filled have none. */
  function sweep(fromBlock: number, toBlock: number): void {
    if (fromBlock >= toBlock) return;
    const groups = [Math.ceil(fromBlock / GROUP_BLOCKS), Math.floor(toBlock / GROUP_BLOCKS)] as const;
    for (let segment = 0; segment < SEGMENTS; segment++) {
      removeBlocks.run(segment, fromBlock, toBlock);
      if (groups[0] < groups[1]) removeGroups.run(segment, ...groups);
    }
  }

  function isEmpty(firstBlock: number, count: number): boolean {
    return selectOne.get(firstBlock * BLOCK_EVENTS, (firstBlock + count) * BLOCK_EVENTS - 1) === undefined;
  }

  return {
    /** Starts a walk at the first event. The results of the last one are trusted for a day under the same rules. */
    begin(rules: RetentionRules, wall: number): void {
      const text = JSON.stringify(rules);
      const isBelieved = believed?.rules === text && wall >= believed.since && wall - believed.since < BELIEVED_MS;
      if (isBelieved) {
        for (const [block, dueAt] of found) resting.set(block, dueAt);
      } else {
        resting.clear();
        believed = { rules: text, since: wall };
      }
      found.clear();
      current = { block: -1, dueAt: Number.POSITIVE_INFINITY };
    },

    find(afterSeq: number, rules: RetentionRules, wall: number): Place {
      const youngest = wall - shortestAge(rules);
      let at = afterSeq;
      for (let skips = 0; skips < MAX_SKIPS; skips++) {
        const next: { seq: number; receivedAt: number } | undefined = selectNext.get(at);
        sweep(Math.ceil((at + 1) / BLOCK_EVENTS), next === undefined ? Number.MAX_SAFE_INTEGER : blockOf(next.seq));
        if (next === undefined) return { kind: "end", afterSeq: at };
        const block = blockOf(next.seq);
        const written: { receivedAt: number } | undefined = selectBlock.get(block);
        const receivedFrom = (written ?? next).receivedAt;
        if (receivedFrom >= youngest + CLOCK_MARGIN_MS) return { kind: "end", afterSeq: at };
        const upToSeq = (block + 1) * BLOCK_EVENTS - 1;
        const isYoung = written !== undefined && receivedFrom > youngest;
        if (!isYoung && (resting.get(block) ?? 0) <= wall) {
          return { kind: "block", block, afterSeq: next.seq - 1, upToSeq };
        }
        at = upToSeq;
      }
      return { kind: "further", afterSeq: at };
    },

    /** Records when an event of the current block is next due. */
    recordKept(seq: number, dueAt: number): void {
      const block = blockOf(seq);
      if (current.block !== block) current = { block, dueAt };
      else if (dueAt < current.dueAt) current.dueAt = dueAt;
    },

    /** Called when the whole block was examined. */
    finish(block: number): void {
      if (isEmpty(block, 1)) {
        sweep(block, block + 1);
        const group = groupOf(block);
        if (isEmpty(group * GROUP_BLOCKS, GROUP_BLOCKS)) sweep(group * GROUP_BLOCKS, (group + 1) * GROUP_BLOCKS);
      } else if (current.block === block && selectBlock.get(block) !== undefined) {
        // Only for a block that gets no more events.
        found.set(block, current.dueAt);
      }
    },
  };
}

function shortestAge({ gateway, tenants }: RetentionRules): number {
  const shortest = ({ events, answers, deadLetters }: Ages) => Math.min(events, answers, deadLetters);
  return tenants.reduce((age, [, ages]) => Math.min(age, shortest(ages)), shortest(gateway));
}

const { pending, sending, dead } = STATE;

/** A delivery that has just ended may still get a late attempt. */
const JUST_ENDED_MS = 3_600_000;

/**
 * A message that has not come again for so long after its event ended, and after its id would have been forgotten, is
 * no longer in its queue: it was purged there, expired, or was taken by another consumer..
 */
const MESSAGE_GONE_MS = 90 * 86_400_000;

export function createRetention(db: Database, options: DedupeOptions & { ring: Pick<RequestRing, "removeAmong"> }) {
  const selectEvents = db.prepare(`
    select seq, id, tenant_id as tenantId, received_at as receivedAt, dedupe_key as dedupeKey, size,
      fan_out_cursor is not null as isFanningOut, t.state as messageState, t.settled_at as settledAt
    from events left join taken_messages t on t.event_seq = seq where seq > ? and seq <= ? order by seq limit ?`);
  const selectDeliveries = db.prepare(`
    select count(*) as deliveries, coalesce(sum(attempt_count), 0) as attempts,
      coalesce(sum(state in (${pending}, ${sending}) or (state = ${dead} and queued_key is not null)), 0) as needed,
      max(case when state = ${dead} then completed_at end) as lastDeathAt, max(completed_at) as lastEndAt
    from deliveries where event_seq = ?`);
  const attemptsOfEvents = createAttemptsOfEvents(db);
  const walk = createRetentionWalk(db);
  const ids = createDedupeKeys(db, options);
  const removal = createEventRemoval(db, ids);
  const removeForms = createAttemptFormRemoval(db);

  /** Erases answers of an event that stays. Returns how many, and when the next are due. */
  function erase({ seq, receivedAt }: OldEvent, { answers }: Ages, wall: number, maxRows: number): [number, number] {
    if (receivedAt + answers > wall) return [0, receivedAt + answers];
    const erased = attemptsOfEvents.eraseAnswers(seq, wall - answers, maxRows);
    const at = attemptsOfEvents.findFirstAnswer(seq);
    return [erased, at === undefined ? Number.POSITIVE_INFINITY : at + answers];
  }

  function pruneBlock(place: { block: number; afterSeq: number; upToSeq: number }, { rules, wall, maxRows }: AgeStep) {
    const agesOf = agesByTenant(rules);
    const events: OldEvent[] = selectEvents.all(place.afterSeq, place.upToSeq, maxRows);
    const step = removal.beginStep({ maxRows, maxBytes: BATCH_LIMITS.maxBytes, answerBytes: 0, wall });
    let [answers, afterSeq] = [0, place.afterSeq];
    const end = () => {
      step.endRun();
      return { ...step.sum, answers, afterSeq };
    };
    for (const event of events) {
      const stand: Stand = selectDeliveries.get(event.seq);
      const ages = agesOf(event.tenantId);
      const dueAt = dueAtOf(event, stand, ages, options.dedupeHorizonMs);
      if (dueAt > wall) {
        step.endRun();
        const [erased, nextDueAt] = erase(event, ages, wall, maxRows - step.rows);
        answers += erased;
        step.spend(erased + 1);
        walk.recordKept(event.seq, Math.min(dueAt, nextDueAt));
        if (nextDueAt <= wall) return end();
      } else if (!step.take(event, stand)) {
        return end();
      }
      afterSeq = event.seq;
      if (step.rows >= maxRows) return end();
    }
    const sum = end();
    if (events.length === maxRows) return sum;
    walk.finish(place.block);
    return { ...sum, afterSeq: place.upToSeq };
  }

  const NOTHING = { removed: 0, deliveries: 0, answers: 0, bytes: 0 };

  function stepOn(step: AgeStep) {
    const { afterSeq, rules, wall, maxRows } = step;
    if (afterSeq === 0) walk.begin(rules, wall);
    const place = walk.find(afterSeq, rules, wall);
    if (place.kind === "block") return { ...pruneBlock(place, step), isEnd: false };
    const isEnd =
      place.kind === "end" &&
      removal.removeOldMarks(maxRows) < maxRows &&
      removeForms(maxRows) < maxRows &&
      ids.forgetOld(wall, maxRows) < maxRows;
    return { ...NOTHING, afterSeq: place.afterSeq, isEnd };
  }

  return {
    removal,
    ids,
    pruneEvents: stepOn,

    pruneRequests({ rules, wall, ...place }: AgeStep): Walked {
      const agesOf = agesByTenant(rules);
      return options.ring.removeAmong(
        place,
        ({ tenantId, receivedAt }) => receivedAt + agesOf(tenantId).requests <= wall,
      );
    },
  };
}

function agesByTenant({ gateway, tenants }: RetentionRules): (tenantId: string) => Ages {
  const own = new Map(tenants);
  return (tenantId) => own.get(tenantId) ?? gateway;
}

type AgeStep = Extract<PruneStep, { of: "events" | "requests" }>;

export type Retention = ReturnType<typeof createRetention>;

/** When the event may be deleted; infinite while it is still needed. */
function dueAtOf(
  { receivedAt, isFanningOut, messageState }: OldEvent,
  stand: Stand,
  ages: Ages,
  dedupeHorizonMs: number,
): number {
  if (isFanningOut === 1 || stand.needed > 0) return Number.POSITIVE_INFINITY;
  const { lastDeathAt, lastEndAt } = stand;
  const dueAt = lastDeathAt === null ? receivedAt + ages.events : lastDeathAt + ages.deadLetters;
  const isHeld = messageState === MESSAGE_STATE.held;
  const neededAfterMs = isHeld ? dedupeHorizonMs + MESSAGE_GONE_MS : JUST_ENDED_MS;
  if (lastEndAt === null) return isHeld ? Math.max(dueAt, receivedAt + neededAfterMs) : dueAt;
  return Math.max(dueAt, lastEndAt + neededAfterMs);
}

interface OldEvent extends RemovedEvent {
  isFanningOut: number;
}

interface Stand {
  deliveries: number;
  attempts: number;
  /** Deliveries that are open or block others. */
  needed: number;
  lastDeathAt: number | null;
  lastEndAt: number | null;
}
