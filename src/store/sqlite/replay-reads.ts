import { ENDED, STATE, MOVED, readMove } from "../../model/delivery.ts";
import type { FoundDelivery, ReplayPage, ReplayResults, ReplayRow, ReplayRowFilter, ReplayWalk } from "../port/jobs.ts";
import { ATTEMPT_TRIGGERS, type DeliveryKey } from "../port/lanes.ts";
import type { Page, PageOf } from "../port/reads.ts";
import { OWNER, parseCursor, type Prepare } from "./query-rows.ts";
import { fromReplaySql, splitCursor, type ReplaySql } from "./replays.ts";

type Value = string | number;

interface FoundState {
  state: number;
  last_error: string | null;
}

export function createReplayReads(prepare: Prepare) {
  return {
    findReplay(id: string): ReplayRow | undefined {
      const row = prepare("select * from replays where id = ?").get(id) as unknown as ReplaySql | undefined;
      return row === undefined ? undefined : fromReplaySql(row);
    },

    loadReplayResults(id: string): ReplayResults {
      const row = prepare("select cursor from replays where id = ?").get(id) as { cursor: string } | undefined;
      const find = prepare("select state, last_error from deliveries where event_seq = ? and subscription_seq = ?");
      const results: ReplayResults = { delivered: 0, dead: 0, open: 0, cancelled: 0 };
      for (const { eventSeq, subscriptionSeq } of splitCursor(row?.cursor ?? "").opened) {
        const opened = find.get(eventSeq, subscriptionSeq) as unknown as FoundState | undefined;
        const movedTo = opened?.state === STATE.cancelled ? readMove(opened.last_error ?? undefined) : undefined;
        const { state } =
          (movedTo === undefined ? opened : (find.get(eventSeq, movedTo) as FoundState | undefined)) ?? {};
        if (state === undefined) continue;
        if (state < ENDED) results.open++;
        else if (state === STATE.delivered) results.delivered++;
        else if (state === STATE.dead) results.dead++;
        else results.cancelled++;
      }
      return results;
    },

    listReplays(filter: ReplayRowFilter, { limit, cursor }: Page): PageOf<ReplayRow> {
      const conditions: string[] = [];
      const values: Value[] = [];
      const where = (sql: string, value: Value | undefined) => {
        if (value === undefined) return;
        conditions.push(sql);
        values.push(value);
      };
      where("tenant_id = ?", filter.tenantId);
      where("status = ?", filter.status);
      where("seq < ?", cursor === undefined ? undefined : parseCursor(cursor, 1)[0]);
      const sql = `select * from replays where ${["true", ...conditions].join(" and ")} order by seq desc limit ?`;
      const rows = prepare(sql).all(...values, limit + 1) as unknown as ReplaySql[];
      const shown = rows.slice(0, limit);
      return {
        rows: shown.map(fromReplaySql),
        nextCursor: rows.length > limit ? String(shown.at(-1)?.seq) : undefined,
      };
    },
  };
}

export function createWalks(prepare: Prepare) {
  return {
    walk(walk: ReplayWalk, after: DeliveryKey, page: { limit: number; maxScanned: number }): ReplayPage {
      const { sql, values } = WALKS[walk.over](walk, after);
      const found: FoundDelivery[] = [];
      let last = after;
      let scanned = 0;
      for (const row of prepare(sql).all(...values, page.maxScanned) as unknown as WalkSql[]) {
        if (found.length === page.limit) return { found, after: last, isEnd: false };
        last = { eventSeq: row.event_seq, subscriptionSeq: row.subscription_seq };
        scanned++;
        if (row.is_wanted !== 1) continue;
        found.push({ ...last, isMissing: row.state === null, movedTo: readMove(row.move), type: row.type });
      }
      return { found, after: last, isEnd: scanned < page.maxScanned };
    },

    countReopened(subscriptionSeqs: readonly number[], limit: number): number[] {
      const count = prepare(`
        select count(*) as open from (
          select 1 from deliveries where subscription_seq = ? and state < ${ENDED} and next_trigger = ${ATTEMPT_TRIGGERS.indexOf("replay")} limit ?)`);
      return subscriptionSeqs.map((seq) => (count.get(seq, limit) as { open: number }).open);
    },
  };
}

const MOVE = `case when d.state = ${STATE.cancelled} and d.last_error like '${MOVED}%' then d.last_error end`;

/** Conditions become a column instead of a `where`: so a walk without matches still ends at its row limit. */
interface Conditions {
  readonly sql: string[];
  readonly values: Value[];
}

function add(to: Conditions, sql: string, value: Value | undefined): void {
  if (value === undefined) return;
  to.sql.push(sql);
  to.values.push(value);
}

function conditionsOf(walk: ReplayWalk, first: string): Conditions {
  const wanted: Conditions = { sql: [first], values: [] };
  if (walk.over === "events") add(wanted, "e.tenant_id in (select value from json_each(?))", listOf(walk.tenants));
  else add(wanted, `${OWNER} = ?`, walk.tenantId);
  add(wanted, "e.type = ?", walk.type);
  add(wanted, "e.source = ?", walk.source);
  add(wanted, "d.dead_reason = ?", walk.reason);
  const time = walk.over === "dead" ? "d.completed_at" : "e.received_at";
  add(wanted, `${time} >= ?`, walk.since);
  add(wanted, `${time} < ?`, walk.until);
  return wanted;
}

function listOf(tenants: ReplayWalk["tenants"]): string | undefined {
  return tenants === undefined ? undefined : JSON.stringify(tenants);
}

function walkDead(walk: ReplayWalk, after: DeliveryKey) {
  const wanted = conditionsOf(walk, "true");
  const { subscriptionSeq } = walk;
  return {
    // Rows of other subscriptions are skipped within the index, which is too cheap to count.
    sql: `
      select d.event_seq, d.subscription_seq, d.state, ${MOVE} as move, e.type, (${wanted.sql.join(" and ")}) as is_wanted
      from deliveries d indexed by dead_letters_by_event join events e on e.seq = d.event_seq
      where d.state = ${STATE.dead} and (d.event_seq, d.subscription_seq) > (?, ?) and d.event_seq <= ?
        ${subscriptionSeq === undefined ? "" : "and d.subscription_seq = ?"}
      order by d.event_seq, d.subscription_seq limit ?`,
    values: [
      ...wanted.values,
      after.eventSeq,
      after.subscriptionSeq,
      walk.upToSeq,
      ...(subscriptionSeq === undefined ? [] : [subscriptionSeq]),
    ],
  };
}

function walkDeliveries(walk: ReplayWalk, after: DeliveryKey) {
  const openState = walk.isPending === true ? `d.state = ${STATE.pending}` : `d.state < ${ENDED}`;
  const wanted = conditionsOf(walk, walk.over === "open" ? openState : `d.state >= ${ENDED}`);
  add(wanted, "d.subscription_seq = ?", walk.subscriptionSeq);
  return {
    sql: `
      select d.event_seq, d.subscription_seq, d.state, ${MOVE} as move, e.type, (${wanted.sql.join(" and ")}) as is_wanted
      from deliveries d join events e on e.seq = d.event_seq
      where (d.event_seq, d.subscription_seq) > (?, ?) and d.event_seq <= ?
      order by d.event_seq, d.subscription_seq limit ?`,
    values: [...wanted.values, after.eventSeq, after.subscriptionSeq, walk.upToSeq],
  };
}

const MISSING = "(d.state is null and (e.expires_at is null or e.expires_at > ?))";
const AS_IT_HAD_THEM = {
  failed: `d.state = ${STATE.dead}`,
  had: `d.state >= ${ENDED}`,
  missing: MISSING,
  all: `(d.state = ${STATE.dead} or ${MISSING})`,
  any: `(d.state >= ${ENDED} or ${MISSING})`,
} as const;

function walkEvents(walk: ReplayWalk, after: DeliveryKey) {
  const had = AS_IT_HAD_THEM[walk.include ?? "all"];
  const subscriptionSeq = walk.subscriptionSeq ?? 0;
  const wanted = conditionsOf(walk, had);
  const values = had.includes("?") ? [walk.now, ...wanted.values] : wanted.values;
  return {
    sql: `
      select e.seq as event_seq, ? as subscription_seq, d.state, ${MOVE} as move, e.type, (${wanted.sql.join(" and ")}) as is_wanted
      from events e left join deliveries d on d.event_seq = e.seq and d.subscription_seq = ?
      where e.seq > ? and e.seq <= ? order by e.seq limit ?`,
    values: [subscriptionSeq, ...values, subscriptionSeq, after.eventSeq, walk.upToSeq],
  };
}

const WALKS = { dead: walkDead, ended: walkDeliveries, open: walkDeliveries, events: walkEvents } as const;

interface WalkSql {
  event_seq: number;
  subscription_seq: number;
  state: number | null;
  move: string | null;
  type: string;
  is_wanted: number;
}
