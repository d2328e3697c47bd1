import { countsSeenBy, deriveEventStatus, ENDED, STATE } from "../../model/delivery.ts";
import { createTextMatch, hasLabels, MAX_SEARCHED_BODY_BYTES } from "../../model/event-search.ts";
import { matchFilter, parseFilter } from "../../model/filter.ts";
import { matchesPattern, parsePattern } from "../../model/pattern.ts";
import type { EventFilter, EventPage, SearchPage, StoredEvent } from "../port/reads.ts";
import type { Statement } from "./connection.ts";
import {
  BLOCK_EVENTS,
  blockOf,
  keyOfIdPrefix,
  mayHold,
  toFilterKey,
  type FilterKey,
  GROUP_BLOCKS,
  groupOf,
  unpackGroup,
  type BlockRow,
} from "./event-blocks.ts";
import { createEventIdLookup } from "./event-ids.ts";
import { SENDING_ROWS } from "./sending.ts";

/** How many events one statement reads. Fewer if bodies are read, each of which has up to 16 KB here. */
const EVENTS_AT_ONCE = 256;
const BODIES_AT_ONCE = 64;
/**
 * The minimum work per millisecond of the budget, in events read; far less than usual. Without it, the pages of a busy
 * machine, whose threads wait longer than they work, could be empty.
 */
const LEAST_WORK_PER_MS = 50;
const WORK_OF_SKIP = 16;
const WORK_OF_BODY = 8;
/** When a page is full, the search for a next match may take this part of the budget. */
const LOOK_AHEAD = 0.1;

const READ = `
  select e.seq, e.type, case when ?14 then e.details end as details, e.size, case when ?15 then e.body end as body
  from events e
  where e.seq >= ?1 and e.seq < ?2
    and (?3 is null or e.tenant_id = ?3)
    and (?4 is null or e.type = ?4)
    and (?5 is null or e.source = ?5)
    and (?6 is null or e.received_at >= ?6)
    and (?7 is null or e.received_at < ?7)
    and (?8 is null or e.id = ?8)
    and (?9 is null or substr(e.id, 1, ?10) = ?9)
    and (?11 is null or e.ordering_key = ?11)
    and (?12 is null or (e.delivery_count = 0) = ?12)
    and (not ?14 or e.details is not null)
  order by e.seq desc limit ?13`;

interface ReadRow {
  seq: number;
  type: string;
  details: string | null;
  size: number;
  body: Uint8Array | null;
}

export interface SearchOptions {
  prepare: (sql: string) => Statement;
  /** The event as a list shows it, with the states of its deliveries. */
  loadEvent: (seq: number) => StoredEvent | undefined;
  loadBody: (seq: number) => Uint8Array | undefined;
  nowMs: () => number;
}

/**
 * Goes through the log from the newest event down: events that cannot match are skipped, the others are read in small
 * steps and checked. Each step is a statement of its own, so that no read delays a checkpoint, and the budget is
 * checked after each. `below` is where the previous page ended.
 */
export function searchEvents(
  options: SearchOptions,
  filter: EventFilter,
  { limit, budgetMs = Number.POSITIVE_INFINITY }: Omit<SearchPage, "cursor">,
  below: number | undefined,
): EventPage {
  const { prepare, loadEvent, nowMs } = options;
  const startedAt = nowMs();
  const bounds = prepare("select (select min(seq) from events) as low, (select max(seq) from events) as high");
  const { low, high } = bounds.get() as { low: number | null; high: number | null };
  const bottom = low ?? 0;
  const skips = createSkips(prepare, filter);
  const isExact = skips.some((one) => one.isExact);
  const readsBodies = needsBodies(filter);
  const fits = createCheck(options, filter);
  const read = createReader(prepare, filter);

  const selectBelow = prepare("select max(seq) as seq from events where seq < ?");
  /** Jumps over long gaps of deleted events. */
  function aboveNext(seq: number): number {
    return ((selectBelow.get(seq) as { seq: number | null }).seq ?? -1) + 1;
  }

  const rows: StoredEvent[] = [];
  let skippedBodies = 0;
  let at = Math.min(below ?? Number.POSITIVE_INFINITY, (high ?? 0) + 1);
  let deadline = startedAt + budgetMs;
  let work = 0;
  const isOver = () => work >= budgetMs * LEAST_WORK_PER_MS && nowMs() >= deadline;

  /** Skips as far as possible; false when the time ran out before. */
  function skipOn(): boolean {
    for (let i = 0; i < skips.length && at > bottom;) {
      const before = at;
      at = (skips[i] as Skip).next(at);
      work += WORK_OF_SKIP;
      i = at < before ? 0 : i + 1;
      if (at < before && at > bottom && isOver()) return false;
    }
    return true;
  }

  while (at > bottom) {
    if (!skipOn()) return end(at);
    if (at <= bottom) break;
    const step = isExact ? 1 : readsBodies ? BODIES_AT_ONCE : EVENTS_AT_ONCE;
    const from = Math.max(bottom, at - step, blockOf(at - 1) * BLOCK_EVENTS);
    const wanted = limit + 1 - rows.length;
    const found = read(from, at, wanted);
    work += (at - from) * (readsBodies ? WORK_OF_BODY : 1);
    for (const row of found) {
      at = row.seq;
      const verdict = fits(row);
      if (verdict === "too large") skippedBodies++;
      const event = verdict === "fits" ? loadEvent(row.seq) : undefined;
      // Its deliveries were counted one by one.
      work += event?.deliveryCount ?? 0;
      if (event !== undefined && fitsCounts(filter, event)) {
        if (rows.length === limit) return end((rows.at(-1) as StoredEvent).seq);
        rows.push(event);
        if (rows.length === limit) deadline = Math.min(deadline, nowMs() + budgetMs * LOOK_AHEAD);
      }
      if (isOver()) return end(at);
    }
    if (found.length < wanted) at = found.length === 0 ? aboveNext(from) : from;
    if (at > bottom && isOver()) return end(at);
  }
  return { rows, nextCursor: undefined, searchedUntil: undefined, skippedBodies };

  function end(cursor: number): EventPage {
    if (cursor <= bottom) return { rows, nextCursor: undefined, searchedUntil: undefined, skippedBodies };
    const select = prepare("select received_at as receivedAt from events where seq >= ? order by seq limit 1");
    const reached = select.get(cursor) as { receivedAt: number } | undefined;
    return { rows, nextCursor: String(cursor), searchedUntil: reached?.receivedAt, skippedBodies };
  }
}

/** Rows of [from, to) that meet all conditions on columns. */
function createReader(prepare: SearchOptions["prepare"], filter: EventFilter) {
  const statement = prepare(READ);
  const { idPrefix, unmatched } = filter;
  const values = [
    filter.tenantId ?? null,
    filter.type ?? null,
    filter.source ?? null,
    filter.since ?? null,
    filter.until ?? null,
    filter.id ?? null,
    idPrefix ?? null,
    idPrefix?.length ?? 0,
    filter.orderingKey ?? null,
    // The column counts what the tenant sees; operators see more matches.
    unmatched === undefined || (!unmatched && filter.tenantId === undefined) ? null : Number(unmatched),
  ];
  const needsDetails = filter.labels === undefined ? 0 : 1;
  const needsBody = needsBodies(filter) ? 1 : 0;
  return (from: number, to: number, limit: number) =>
    statement.all(from, to, ...values, limit, needsDetails, needsBody) as unknown as ReadRow[];
}

function fitsCounts({ tenantId, status, unmatched }: EventFilter, event: StoredEvent): boolean {
  const counts = countsSeenBy(tenantId, event);
  if (unmatched !== undefined && (counts.deliveryCount === 0) !== unmatched) return false;
  return status === undefined || deriveEventStatus(counts) === status;
}

function needsBodies({ text, data }: EventFilter): boolean {
  return text !== undefined || data !== undefined;
}

/** The conditions that columns cannot answer; the body last, because it costs most. */
function createCheck({ loadBody }: SearchOptions, filter: EventFilter): (row: ReadRow) => "fits" | "no" | "too large" {
  const { labels, text, data } = filter;
  const pattern = filter.typePattern === undefined ? undefined : parsePattern(filter.typePattern);
  const hasText = text === undefined ? undefined : createTextMatch(text);
  const hasData = data === undefined ? undefined : createDataMatch(data);
  return ({ seq, type, details, size, body }) => {
    if (pattern !== undefined && !matchesPattern(pattern, type)) return "no";
    if (labels !== undefined && !hasLabels(details ?? undefined, labels)) return "no";
    if (hasText === undefined && hasData === undefined) return "fits";
    if (size > MAX_SEARCHED_BODY_BYTES) return "too large";
    const bytes = body ?? loadBody(seq);
    if (bytes === undefined || hasText?.(bytes) === false) return "no";
    return hasData?.(bytes) === false ? "no" : "fits";
  };
}

/** A body that is not JSON has no members. */
function createDataMatch(condition: string): (bytes: Uint8Array) => boolean {
  const filter = parseFilter(`{"data":${condition}}`);
  return (bytes) => {
    try {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
      return matchFilter(filter, { data: JSON.parse(text) as unknown });
    } catch {
      return false;
    }
  };
}

/**
 * Skips events that cannot match. For a sequence number it returns the same or a lower one, with no match between the
 * two (the lower included, the higher not). One call does little work. If it returns the same number, the event below
 * may match.
 */
export interface Skip {
  next(below: number): number;
  /** It points to single events, so that reading their neighbours would be wasted. */
  isExact: boolean;
}

type Prepare = (sql: string) => Statement;

/** The skips that help with this filter. None: everything must be read. */
function createSkips(prepare: Prepare, filter: EventFilter): Skip[] {
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

/**
 * The keys that a block must contain, the most selective first: the filters of the others are read only if that one
 * matches.
 */
function keysOf(filter: EventFilter): BlockKey[] {
  const { tenantId, type, typePattern, source, idPrefix, orderingKey, unmatched, labels = [] } = filter;
  const words = typePattern === undefined ? "" : leadingWordsOf(typePattern);
  const keys: (FilterKey | undefined)[] = [];
  if (orderingKey !== undefined) keys.push(toFilterKey("orderingKey", orderingKey));
  if (idPrefix !== undefined) keys.push(keyOfIdPrefix(idPrefix));
  if (tenantId !== undefined && type !== undefined) keys.push(toFilterKey("typeOfTenant", `${type}:${tenantId}`));
  else if (type !== undefined) keys.push(toFilterKey("type", type));
  if (words !== "") keys.push(toFilterKey("words", words));
  if (source !== undefined) keys.push(toFilterKey("source", source));
  if (tenantId !== undefined && type === undefined) keys.push(toFilterKey("tenant", tenantId));
  if (unmatched === true) keys.push(toFilterKey("unmatched", ""));
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

/** The words before the first wildcard. */
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
    const packed = selectGroup.get(segment, group) as { blocks: Uint8Array } | undefined;
    if (packed !== undefined) return unpackGroup(packed.blocks, group, block);
    return select.all(segment, group * GROUP_BLOCKS, block) as BlockRow[];
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
    return others.every((other) => {
      const found = selectOne.get(other.key.segment, row.block) as { filter: Uint8Array } | undefined;
      return mayHave(other, found?.filter);
    });
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
        const rows = select.all(below) as { seq: number }[];
        if (rows.length === 0) return 0;
        lowest = (rows.at(-1) as { seq: number }).seq;
        listed = skipToListed(rows.map(({ seq }) => seq).reverse());
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
  const rows = prepare(`
    select event_seq as seq from deliveries where state = ${STATE.pending} and rank is not null
    union all select event_seq from (${SENDING_ROWS})
    union all select event_seq from deliveries where queued_key is not null and rank is null and state = ${STATE.pending}
    union all select seq from events where fan_out_cursor is not null
    limit ${MAX_LISTED + 1}`).all() as unknown as { seq: number }[];
  if (rows.length > MAX_LISTED) return skipToOpenOneByOne(prepare);
  return skipToListed(Float64Array.from(rows, ({ seq }) => seq).sort());
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
      const { seq: unfinished } = selectUnfinished.get(below) as { seq: number | null };
      const { open, lowest, count } = select.get(below) as {
        open: number | null;
        lowest: number | null;
        count: number;
      };
      // Perhaps not all deliveries of the lowest event were read, so it may match.
      const next = open ?? (count < DELIVERIES_AT_ONCE ? null : lowest);
      return Math.max(unfinished ?? -1, next ?? -1) + 1;
    },
  };
}
