import { countsSeenBy, deriveEventStatus } from "../../model/delivery.ts";
import { createTextMatch, hasLabels, MAX_SEARCHED_BODY_BYTES } from "../../model/event-search.ts";
import { matchFilter, parseFilter } from "../../model/filter.ts";
import { matchesPattern, parsePattern } from "../../model/pattern.ts";
import type { EventFilter, EventPage, SearchPage, StoredEvent } from "../port/reads.ts";
import { BLOCK_EVENTS, blockOf } from "./event-blocks.ts";
import type { Prepare } from "./query-rows.ts";
import { createSkips, type Skip } from "./search-filters.ts";

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
  prepare: Prepare;
  /** The event as a list shows it, with the states of its deliveries. */
  loadEvent: (seq: number) => StoredEvent | undefined;
  loadBody: (seq: number) => Uint8Array | undefined;
}

/** Goes through the log from the newest event down, until the page is full or its budget is spent. */
export function searchEvents(
  options: SearchOptions,
  filter: EventFilter,
  { limit, budgetMs = Number.POSITIVE_INFINITY }: Omit<SearchPage, "cursor">,
  below: number | undefined,
): EventPage {
  const { prepare, loadEvent } = options;
  const budget = createBudget(budgetMs);
  const bounds = prepare("select (select min(seq) from events) as low, (select max(seq) from events) as high");
  const { low, high } = bounds.get();
  const bottom = low ?? 0;
  const start = Math.min(below ?? Number.POSITIVE_INFINITY, (high ?? 0) + 1);
  const fits = createCheck(options, filter);
  const rows: StoredEvent[] = [];
  let skippedBodies = 0;

  for (const { at, row } of walkDown(prepare, filter, budget, start, bottom, () => limit + 1 - rows.length)) {
    const verdict = row === undefined ? "no" : fits(row);
    if (verdict === "too large") skippedBodies++;
    const event = verdict === "fits" ? loadEvent(at) : undefined;
    // Its deliveries were counted one by one.
    budget.spend(event?.deliveryCount ?? 0);
    if (event !== undefined && fitsCounts(filter, event)) {
      if (rows.length === limit) return end((rows.at(-1) as StoredEvent).seq);
      rows.push(event);
      if (rows.length === limit) budget.reduceTo(LOOK_AHEAD);
    }
    if (budget.isSpent()) return end(at);
  }
  return end(bottom);

  function end(cursor: number): EventPage {
    if (cursor <= bottom) return { rows, nextCursor: undefined, searchedUntil: undefined, skippedBodies };
    const select = prepare("select received_at as receivedAt from events where seq >= ? order by seq limit 1");
    const reached = select.get(cursor);
    return { rows, nextCursor: String(cursor), searchedUntil: reached?.receivedAt, skippedBodies };
  }
}

/** Time, but never less than some work. */
function createBudget(budgetMs: number) {
  let deadline = performance.now() + budgetMs;
  let work = 0;
  return {
    spend(amount: number): void {
      work += amount;
    },
    /** What is left from now on is at most this part of the whole. */
    reduceTo(part: number): void {
      deadline = Math.min(deadline, performance.now() + budgetMs * part);
    },
    isSpent: () => work >= budgetMs * LEAST_WORK_PER_MS && performance.now() >= deadline,
  };
}

/** All events from `at` on were searched; the row is that of this event, if it meets the conditions on columns. */
interface Step {
  at: number;
  row?: ReadRow;
}

/**
 * Events that cannot match are skipped, the others are read in small steps. Each is a statement of its own, so that no
 * read delays a checkpoint, and the search can stop after each. `wanted`: how many rows are still used.
 */
function* walkDown(
  prepare: Prepare,
  filter: EventFilter,
  budget: { spend(work: number): void },
  start: number,
  bottom: number,
  wanted: () => number,
): Generator<Step> {
  const skips = createSkips(prepare, filter);
  const isExact = skips.some((one) => one.isExact);
  const readsBodies = needsBodies(filter);
  const read = createReader(prepare, filter);
  const selectBelow = prepare("select max(seq) as seq from events where seq < ?");
  let at = start;
  while (at > bottom) {
    for (let i = 0; i < skips.length && at > bottom;) {
      const before = at;
      at = (skips[i] as Skip).next(at);
      budget.spend(WORK_OF_SKIP);
      i = at < before ? 0 : i + 1;
      if (at < before && at > bottom) yield { at };
    }
    if (at <= bottom) return;
    const size = isExact ? 1 : readsBodies ? BODIES_AT_ONCE : EVENTS_AT_ONCE;
    const from = Math.max(bottom, at - size, blockOf(at - 1) * BLOCK_EVENTS);
    const most = wanted();
    const found = read(from, at, most);
    budget.spend((at - from) * (readsBodies ? WORK_OF_BODY : 1));
    for (const row of found) {
      at = row.seq;
      yield { at, row };
    }
    // Jumps over long gaps of deleted events.
    if (found.length === 0) at = (selectBelow.get(from).seq ?? -1) + 1;
    else if (found.length < most) at = from;
    if (at > bottom) yield { at };
  }
}

/** Rows of [from, to) that meet all conditions on columns. */
function createReader(prepare: Prepare, filter: EventFilter) {
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
  return (from: number, to: number, limit: number): ReadRow[] =>
    statement.all(from, to, ...values, limit, needsDetails, needsBody);
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
