import { DELIVERY_STATES, STATE } from "../../model/delivery.ts";
import type { DeliveryKey } from "../port/lanes.ts";
import type { DeliveryFilter, PageOf, SearchPage } from "../port/reads.ts";
import { conditions, OWNER, parseCursor, type Prepare } from "./query-rows.ts";

/** How many deliveries one statement looks at; about a millisecond. */
const DELIVERIES_AT_ONCE = 2000;
const ABOVE_ALL: DeliveryKey = { eventSeq: Number.MAX_SAFE_INTEGER, subscriptionSeq: 0 };

export interface DeliverySearchOptions {
  prepare: Prepare;
  /** What is read of a delivery `d`, its event `e` and its subscription `s`, with the tables. */
  select: string;
  nowMs: () => number;
}

/**
 * Goes through the deliveries from the newest event down, in small steps. No index leads to those of a subscription or
 * of a state, because it would be written for every delivery: a page that finds few of them ends with its budget.
 */
export function searchDeliveries<Row extends DeliveryKey>(
  { prepare, select, nowMs }: DeliverySearchOptions,
  filter: Omit<DeliveryFilter, "eventSeq">,
  { limit, cursor, budgetMs = Number.POSITIVE_INFINITY }: SearchPage,
): PageOf<Row> {
  const deadline = nowMs() + budgetMs;
  const { tenantId, subscriptionSeq, state } = filter;
  // Dead letters have an index in this order, which SQLite uses only when its condition is spelt out.
  const among = state === "dead" ? `d.state = ${STATE.dead}` : "true";
  const below = "(d.event_seq, d.subscription_seq) < (?, ?)";
  const order = "order by d.event_seq desc, d.subscription_seq desc";
  const selectEnd = prepare(`
    select d.event_seq as eventSeq, d.subscription_seq as subscriptionSeq from deliveries d
    where ${among} and ${below} ${order} limit 1 offset ${DELIVERIES_AT_ONCE - 1}`);
  const where = conditions(
    [
      [`${OWNER} = ?`, tenantId],
      ["d.subscription_seq = ?", subscriptionSeq],
      ["d.state = ?", state === undefined ? undefined : DELIVERY_STATES.indexOf(state)],
    ],
    `${among} and ${below} and (d.event_seq, d.subscription_seq) >= (?, ?)`,
  );
  const read = prepare(`select ${select} ${where.sql} ${order} limit ?`);

  const isWholeLane = subscriptionSeq !== undefined && state === undefined && cursor === undefined;
  const isComplete = isWholeLane ? createCompletenessCheck(prepare, subscriptionSeq) : () => false;
  const rows: Row[] = [];
  let at = cursor === undefined ? ABOVE_ALL : toKey(parseCursor(cursor, 2));
  while (!isComplete(rows.length)) {
    const end = selectEnd.get(at.eventSeq, at.subscriptionSeq) as DeliveryKey | undefined;
    const to = end ?? { eventSeq: 0, subscriptionSeq: 0 };
    const wanted = limit + 1 - rows.length;
    const place = [at.eventSeq, at.subscriptionSeq, to.eventSeq, to.subscriptionSeq];
    rows.push(...(read.all(...place, ...where.values, wanted) as unknown as Row[]));
    if (rows.length > limit) return { rows: rows.slice(0, limit), nextCursor: cursorOf(rows[limit - 1] as Row) };
    if (end === undefined) break;
    at = end;
    if (nowMs() >= deadline) return { rows, nextCursor: cursorOf(end) };
  }
  return { rows, nextCursor: undefined };
}

/**
 * Whether so many are all deliveries of a subscription: then the search need not go on to the oldest event. Not known
 * once some were deleted since the search began.
 */
function createCompletenessCheck(prepare: Prepare, subscriptionSeq: number): (found: number) => boolean {
  const select = prepare(`
    select created, pruned_delivered + pruned_dead + pruned_cancelled as pruned from counters
    where subscription_seq = ?`);
  const load = () => (select.get(subscriptionSeq) ?? { created: 0, pruned: 0 }) as { created: number; pruned: number };
  const { pruned: before } = load();
  return (found) => {
    const { created, pruned } = load();
    return pruned === before && found === created - pruned;
  };
}

function toKey([eventSeq, subscriptionSeq]: readonly number[]): DeliveryKey {
  return { eventSeq: eventSeq as number, subscriptionSeq: subscriptionSeq as number };
}

function cursorOf({ eventSeq, subscriptionSeq }: DeliveryKey): string {
  return `${eventSeq}.${subscriptionSeq}`;
}
