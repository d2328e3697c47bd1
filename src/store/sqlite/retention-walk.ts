import type { Ages } from "../../model/retention.ts";
import type { RetentionRules } from "../port/jobs.ts";
import { SEGMENTS } from "./block-filter.ts";
import { GROUP_BLOCKS, groupOf } from "./block-group.ts";
import type { Database } from "./connection.ts";
import { BLOCK_EVENTS, blockOf } from "./event-blocks.ts";

/**
 * Goes from block to block of the log, skips those in which nothing is due, and removes the index rows of empty ones.
 */
export interface RetentionWalk {
  /**
   * Starts a walk at the first event. The results of the last walk are trusted for a day if the rules are unchanged.
   */
  begin(rules: RetentionRules, wall: number): void;
  find(afterSeq: number, rules: RetentionRules, wall: number): Place;
  /** Notes when an event of the current block is next due. */
  noteKept(seq: number, dueAt: number): void;
  /** Called when the whole block was examined. */
  finish(block: number): void;
}

export type Place =
  | { kind: "block"; block: number; afterSeq: number; upToSeq: number }
  /** Nothing found so far; continue from here. */
  | { kind: "further"; afterSeq: number }
  | { kind: "end"; afterSeq: number };

/** The clock may have been set back by this much without an event being missed. */
const CLOCK_MARGIN_MS = 86_400_000;
const BELIEVED_MS = 86_400_000;
const MAX_SKIPS = 256;
const SWEPT_AT_ONCE = 16;

export function createRetentionWalk(db: Database): RetentionWalk {
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
    begin(rules, wall) {
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

    find(afterSeq, rules, wall) {
      const youngest = wall - shortestAge(rules);
      let at = afterSeq;
      for (let skips = 0; skips < MAX_SKIPS; skips++) {
        const next = selectNext.get(at) as { seq: number; receivedAt: number } | undefined;
        sweep(Math.ceil((at + 1) / BLOCK_EVENTS), next === undefined ? Number.MAX_SAFE_INTEGER : blockOf(next.seq));
        if (next === undefined) return { kind: "end", afterSeq: at };
        const block = blockOf(next.seq);
        const written = selectBlock.get(block) as { receivedAt: number } | undefined;
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

    noteKept(seq, dueAt) {
      const block = blockOf(seq);
      if (current.block !== block) current = { block, dueAt };
      else if (dueAt < current.dueAt) current.dueAt = dueAt;
    },

    finish(block) {
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
