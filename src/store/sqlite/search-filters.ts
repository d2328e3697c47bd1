import { ENDED, STATE } from "../../model/delivery.ts";
import { parsePattern } from "../../model/pattern.ts";
import type { EventFilter } from "../port/reads.ts";
import {
  BLOCK_EVENTS,
  blockOf,
  GROUP_BLOCKS,
  groupOf,
  keyOfIdPrefix,
  mayHold,
  toFilterKey,
  unpackGroup,
  type BlockRow,
  type FilterKey,
} from "./event-blocks.ts";
import { createEventIdLookup } from "./event-ids.ts";
import type { Prepare } from "./query-rows.ts";
import { OPEN_ROWS } from "./sending.ts";

/**
 * Skips events that cannot match. For a sequence number it returns the same or a lower one, with no match between the
 * two (the lower included, the higher not); if the same, the event below may match. One call does little work.
 */
export interface Skip {
  next(below: number): number;
  /** It points to single events, so that reading their neighbours would be wasted. */
  isExact: boolean;
}

/** The skips that help with this filter. None: everything must be read. */
export function createSkips(prepare: Prepare, filter: EventFilter): Skip[] {
  const skips: Skip[] = [];
  if (filter.status === "FAILED") skips.push(skipToDead(prepare));
  if (filter.status === "PENDING") skips.push(skipToOpen(prepare));
  if (filter.id !== undefined) skips.push(skipToId(prepare, filter.id));
  const keys = keysOf(filter);
  if (keys.length > 0 || filter.since !== undefined || filter.until !== undefined) {
    skips.push(skipByBlocks(prepare, filter, keys));
  }
  return skips;
}

/** The keys that a block must contain, the most selective first: the others are read only if that one matches. */
function keysOf(filter: EventFilter): BlockKey[] {
  const { tenantId, type, typePattern, source, idPrefix, orderingKey, unmatched, labels = [] } = filter;
  const words = typePattern === undefined ? "" : leadingWordsOf(typePattern);
  const keyOf = (kind: Parameters<typeof toFilterKey>[0], text: string | undefined) =>
    text === undefined ? undefined : toFilterKey(kind, text);
  const isOfTenant = tenantId !== undefined && type !== undefined;
  const keys = [
    keyOf("orderingKey", orderingKey),
    idPrefix === undefined ? undefined : keyOfIdPrefix(idPrefix),
    isOfTenant ? toFilterKey("typeOfTenant", `${type}:${tenantId}`) : keyOf("type", type),
    words === "" ? undefined : toFilterKey("words", words),
    keyOf("source", source),
    isOfTenant ? undefined : keyOf("tenant", tenantId),
    unmatched === true ? toFilterKey("unmatched", "") : undefined,
  ];
  const ofLabels = labels.map(({ name, value }): BlockKey => {
    const key = value === undefined ? toFilterKey("label", name) : toFilterKey("labelValue", `${name}=${value}`);
    return { key, isLabel: true };
  });
  const others = keys.filter((key) => key !== undefined).map((key): BlockKey => ({ key, isLabel: false }));
  return [...ofLabels, ...others];
}

interface BlockKey {
  key: FilterKey;
  /** The filters may lack some labels. */
  isLabel: boolean;
}

function leadingWordsOf(pattern: string): string {
  const { words } = parsePattern(pattern);
  const first = words.findIndex((word) => word === "*" || word === "#");
  return words.slice(0, first < 0 ? words.length : first).join(".");
}

/** Skips by the index rows of whole blocks. A block without a row may contain anything. */
function skipByBlocks(prepare: Prepare, { since, until }: EventFilter, keys: readonly BlockKey[]): Skip {
  const selectGroup = prepare("select blocks from event_block_groups where segment = ? and block_group = ?");
  const select = prepare(`
    select block, min_received_at as minReceivedAt, max_received_at as maxReceivedAt, has_all_labels as hasAllLabels,
      filter
    from event_blocks where segment = ? and block between ? and ? order by block desc`);
  const selectOne = prepare("select filter from event_blocks where segment = ? and block = ?");
  const [leading, ...others] = keys;
  const segment = leading?.key.segment ?? 0;
  let loaded: readonly BlockRow[] = [];
  let next = 0;

  /** The index rows of this block and of the lower blocks of its group. */
  function load(block: number): BlockRow[] {
    const group = groupOf(block);
    const packed: { blocks: Uint8Array } | undefined = selectGroup.get(segment, group);
    if (packed !== undefined) return unpackGroup(packed.blocks, group, block);
    return select.all(segment, group * GROUP_BLOCKS, block);
  }

  function find(block: number): BlockRow | undefined {
    while (next < loaded.length && (loaded[next] as BlockRow).block > block) next++;
    return loaded[next];
  }

  function mayFit(row: BlockRow): boolean {
    if (since !== undefined && row.maxReceivedAt < since) return false;
    if (until !== undefined && row.minReceivedAt >= until) return false;
    const mayHave = ({ key, isLabel }: BlockKey, filter: Uint8Array | undefined) =>
      filter === undefined || (isLabel && row.hasAllLabels === 0) || mayHold(filter, key);
    if (leading !== undefined && !mayHave(leading, row.filter)) return false;
    return others.every((other) => mayHave(other, selectOne.get(other.key.segment, row.block)?.filter));
  }

  return {
    isExact: false,
    next(below) {
      let at = below;
      const isLoaded = find(blockOf(below - 1)) !== undefined;
      if (!isLoaded) {
        loaded = load(blockOf(below - 1));
        next = 0;
      }
      for (;;) {
        const block = blockOf(at - 1);
        const row = find(block);
        if (row === undefined || row.block !== block || mayFit(row)) return at;
        at = block * BLOCK_EVENTS;
        if (at <= 0 || next === loaded.length - 1) return at;
      }
    },
  };
}

/** Generated ids are looked up; ids that senders chose are in the filters. A sender may have chosen a generated id. */
function skipToId(prepare: Prepare, id: string): Skip {
  const found = createEventIdLookup(prepare)(id);
  const generated = skipToListed(found === undefined ? [] : [found]);
  const given = skipByBlocks(prepare, {}, [{ key: toFilterKey("givenId", id), isLabel: false }]);
  let reached = Number.POSITIVE_INFINITY;
  return {
    isExact: false,
    next(below) {
      // The skip that is further down is not asked again until the other has caught up.
      if (below <= reached) reached = given.next(below);
      return Math.max(generated.next(below), reached);
    },
  };
}

function skipToListed(ascending: ArrayLike<number>): Skip {
  let last = ascending.length - 1;
  return {
    isExact: true,
    next(below) {
      while (last >= 0 && (ascending[last] as number) >= below) last--;
      return last < 0 ? 0 : (ascending[last] as number) + 1;
    },
  };
}

const DEAD_AT_ONCE = 100;

/** An event has failed when one of its deliveries is dead, and these have an index. */
function skipToDead(prepare: Prepare): Skip {
  const select = prepare(`
    select event_seq as seq from deliveries where state = ${STATE.dead} and event_seq < ? order by event_seq desc
    limit ${DEAD_AT_ONCE}`);
  let listed: Skip | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  return {
    isExact: true,
    next(below) {
      if (listed === undefined || below <= lowest) {
        const seqs: number[] = select.all(below).map(({ seq }) => seq);
        if (seqs.length === 0) return 0;
        lowest = seqs.at(-1) as number;
        listed = skipToListed(seqs.reverse());
      }
      return listed.next(below);
    },
  };
}

/** Up to this many open deliveries are listed at the start of a page; beyond that, all deliveries are searched. */
const MAX_LISTED = 20_000;
const DELIVERIES_AT_ONCE = 2000;

function skipToOpen(prepare: Prepare): Skip {
  // One statement reads one consistent state: a delivery that changes from one index to another is not missed.
  const rows: { event_seq: number }[] = prepare(`
    ${OPEN_ROWS} union all select seq from events where fan_out_cursor is not null limit ${MAX_LISTED + 1}`).all();
  if (rows.length > MAX_LISTED) return skipToOpenOneByOne(prepare);
  return skipToListed(Float64Array.from(rows, ({ event_seq }) => event_seq).sort());
}

/** Deliveries are smaller than events and stored in the same order. */
function skipToOpenOneByOne(prepare: Prepare): Skip {
  const selectUnfinished = prepare("select max(seq) as seq from events where fan_out_cursor is not null and seq < ?");
  const select = prepare(`
    select max(case when state < ${ENDED} then event_seq end) as open, min(event_seq) as lowest, count(*) as count
    from (select event_seq, state from deliveries where event_seq < ?
      order by event_seq desc, subscription_seq desc limit ${DELIVERIES_AT_ONCE})`);
  return {
    isExact: true,
    next(below) {
      const { seq: unfinished } = selectUnfinished.get(below);
      const { open, lowest, count } = select.get(below);
      // Perhaps not all deliveries of the lowest event were read, so it may match.
      const next = open ?? (count < DELIVERIES_AT_ONCE ? null : lowest);
      return Math.max(unfinished ?? -1, next ?? -1) + 1;
    },
  };
}
