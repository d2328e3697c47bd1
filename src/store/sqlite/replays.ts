import { DELIVERY_STATES, ENDED, STATE, rankOfReplay, MOVED, readMove } from "../../model/delivery.ts";
import { refuse, type Refused } from "../../model/errors.ts";
import { isOver, opensDeliveries, type ReplayFilter, type ReplayKind } from "../../model/replay.ts";
import type { FoundDelivery, Jobs, NewReplay, ReplayItem, ReplayResults, ReplayRow, ReplayWalk } from "../port/jobs.ts";
import { ATTEMPT_TRIGGERS, type DeliveryKey } from "../port/lanes.ts";
import type { Reads } from "../port/reads.ts";
import type { CommandParts } from "./commands.ts";
import type { Database } from "./connection.ts";
import { createPurge } from "./move.ts";
import {
  allOf,
  asFields,
  cursorOfSeq,
  OWNER,
  parseCursor,
  readPage,
  toRow,
  type AtOnce,
  type Prepare,
} from "./query-rows.ts";

/** How many ended jobs are kept, as a log. */
const KEPT = 1000;
/** How many of the deliveries that a job opens are kept with it, to show what became of them. */
const FOLLOWED = 5000;

/** The states in which a job accepts a delivery. */
const TAKES: Readonly<Record<ReplayKind, readonly number[]>> = {
  dead_letters: [STATE.dead],
  recover: [STATE.dead],
  events: [STATE.delivered, STATE.dead, STATE.cancelled],
  cancel: [STATE.pending, STATE.sending],
  purge: [STATE.dead],
};

const REPLAY = asFields(
  `seq, id, tenant_id, kind, status, filter, subscription_seq, lane_seq, after_seq, up_to_seq, cursor, total,
    total_is_exact, done, skipped, failed, error, created_at, started_at, completed_at`,
);

interface ReplaySql extends Omit<ReplayRow, "filter" | "totalIsExact"> {
  seq: number;
  filter: string;
  totalIsExact: number;
}

function toReplay(row: ReplaySql): ReplayRow {
  const { seq: _, filter, totalIsExact, cursor, ...rest } = toRow(row);
  const parsed = JSON.parse(filter) as ReplayFilter;
  return { ...rest, filter: parsed, totalIsExact: totalIsExact === 1, cursor: splitCursor(cursor).cursor };
}

export function createReplayWrites(
  db: Database,
  { moves, accept, audit, at }: Pick<CommandParts, "moves" | "accept" | "audit" | "at">,
): AtOnce<Jobs, "setReplayStatus" | "stepReplay"> & { insertReplay(replay: NewReplay): ReplayRow } {
  const insert = db.prepare(`
    insert into replays (id, tenant_id, kind, status, filter, subscription_seq, lane_seq, after_seq, up_to_seq, cursor,
      total, total_is_exact, created_at, started_at)
    values (?1, ?2, ?3, 'running', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) returning ${REPLAY}`);
  const trim = db.prepare(`
    delete from replays where status not in ('running', 'paused')
      and seq <= (select max(seq) from replays) - ${KEPT}`);
  const find = db.prepare(`select ${REPLAY} from replays where id = ?`);
  const setStatus = db.prepare(`
    update replays set status = ?1, completed_at = ?2, error = ?3,
      total = iif(?1 = 'completed', done + skipped + failed, total),
      total_is_exact = max(total_is_exact, ?1 = 'completed')
    where id = ?4 returning ${REPLAY}`);
  const moveOn = db.prepare(`
    update replays set cursor = ?2, done = done + ?3, skipped = skipped + ?4, failed = failed + ?5,
      total = max(iif(?6 = 'completed', 0, total), done + skipped + failed + ?3 + ?4 + ?5),
      total_is_exact = max(total_is_exact, ?6 = 'completed'), status = ?6, completed_at = ?7
    where id = ?1 returning ${REPLAY}`);
  const selectLive = db.prepare(`
    select seq from records where seq in (select value from json_each(?)) and deleted_at is null`);
  const markReplayed = db.prepare(`
    update deliveries set next_trigger = ${ATTEMPT_TRIGGERS.indexOf("replay")},
      rank = case when rank is null then null else ? end
    where event_seq = ? and subscription_seq = ?`);
  const purge = createPurge(db, moves);

  function make({ eventSeq, subscriptionSeq, ordered, expiresAt }: ReplayItem): Outcome {
    const to = accept.findTarget(eventSeq);
    if (to === undefined) return "failed";
    const dueAt = Math.max(at.now, to.dueAt);
    if (!accept.addDelivery({ ...to, dueAt }, { subscriptionSeq, ordered, expiresAt }, at.wall)) return "skipped";
    markReplayed.run(rankOfReplay(dueAt), eventSeq, subscriptionSeq);
    return "done";
  }

  function change(kind: ReplayKind, item: ReplayItem): Outcome {
    const row = moves.find(item.eventSeq, item.subscriptionSeq);
    if (row === undefined) return item.isMissing ? make(item) : "skipped";
    if (item.isMissing || !TAKES[kind].includes(row.state)) return "skipped";
    const { ordered, expiresAt } = item;
    if (kind === "cancel") moves.end(row, "cancelled");
    else if (kind === "purge") purge(row);
    else moves.reopen(row, "replay", { ordered, expiresAt, isBulk: true });
    return "done";
  }

  return {
    insertReplay(replay) {
      const known: ReplaySql | undefined = find.get(replay.id);
      if (known !== undefined) return toReplay(known);
      trim.run();
      if (replay.audit !== undefined) audit.append([replay.audit], replay.createdAt);
      const row = insert.get(
        replay.id,
        replay.tenantId ?? null,
        replay.kind,
        JSON.stringify(replay.filter),
        replay.subscriptionSeq ?? null,
        replay.laneSeq ?? null,
        replay.afterSeq,
        replay.upToSeq,
        replay.cursor,
        replay.total,
        replay.totalIsExact ? 1 : 0,
        replay.createdAt,
      );
      return toReplay(row);
    },

    setReplayStatus(id, status, error, note) {
      const row: ReplaySql | undefined = find.get(id);
      if (row === undefined) return rejectUnknown(id);
      if (row.status === status) return toReplay(row);
      if (isOver(row.status)) {
        return refuse("conflict", `The replay ${id} is ${row.status} and can no longer be changed.`);
      }
      if (note !== undefined) audit.append([note], at.wall);
      return toReplay(setStatus.get(status, isOver(status) ? at.wall : null, error ?? null, id));
    },

    stepReplay(step, items) {
      const row: ReplaySql | undefined = find.get(step.id);
      if (row === undefined) return rejectUnknown(step.id);
      const { cursor, opened } = splitCursor(row.cursor);
      if (row.status !== "running" || cursor !== step.cursorFrom) {
        return { changed: undefined, replay: toReplay(row) };
      }
      const seqs = new Set(items.map(({ subscriptionSeq }) => subscriptionSeq));
      const live = new Set(selectLive.all(JSON.stringify([...seqs])).map(({ seq }) => seq));
      const opens = opensDeliveries(row.kind);
      const outcomes = items.map((item) =>
        opens && !live.has(item.subscriptionSeq) ? "failed" : change(row.kind, item),
      );
      const count = (wanted: Outcome) => outcomes.filter((outcome) => outcome === wanted).length;
      const done = items.filter((_, i) => outcomes[i] === "done");
      const followed = opens ? [...opened, ...done].slice(0, FOLLOWED) : opened;
      const moved = moveOn.get(
        step.id,
        joinCursor(step.cursorTo, followed),
        done.length,
        count("skipped"),
        count("failed") + step.failed,
        step.isEnd ? "completed" : "running",
        step.isEnd ? at.wall : null,
      );
      return { changed: outcomes.map((outcome) => outcome === "done"), replay: toReplay(moved) };
    },
  };
}

type Outcome = "done" | "skipped" | "failed";

function rejectUnknown(id: string): Refused {
  return refuse("not_found", `There is no replay ${id}.`);
}

/** The column holds the cursor, and in a second line the deliveries that the job has opened. */
function joinCursor(cursor: string, opened: readonly DeliveryKey[]): string {
  if (opened.length === 0) return cursor;
  const keys = opened.map(
    ({ eventSeq, subscriptionSeq }) => `${eventSeq.toString(36)}.${subscriptionSeq.toString(36)}`,
  );
  return `${cursor}\n${keys.join(" ")}`;
}

function splitCursor(text: string): { cursor: string; opened: readonly DeliveryKey[] } {
  const [cursor = "", keys = ""] = text.split("\n");
  const opened =
    keys === "" ? [] : keys.split(" ").map((key) => key.split(".").map((part) => Number.parseInt(part, 36)));
  return { cursor, opened: opened.map(([eventSeq = 0, subscriptionSeq = 0]) => ({ eventSeq, subscriptionSeq })) };
}

interface FoundState {
  state: number;
  last_error: string | null;
}

export function createReplayReads(prepare: Prepare): AtOnce<Jobs, "findReplay" | "loadReplayResults" | "listReplays"> {
  return {
    findReplay(id) {
      const row = prepare(`select ${REPLAY} from replays where id = ?`).get(id);
      return row && toReplay(row);
    },

    loadReplayResults(id) {
      const row = prepare("select cursor from replays where id = ?").get(id);
      const find = prepare("select state, last_error from deliveries where event_seq = ? and subscription_seq = ?");
      const results: ReplayResults = { delivered: 0, dead: 0, open: 0, cancelled: 0 };
      for (const { eventSeq, subscriptionSeq } of splitCursor(row?.cursor ?? "").opened) {
        let found: FoundState | undefined = find.get(eventSeq, subscriptionSeq);
        const movedTo = found?.state === STATE.cancelled ? readMove(found.last_error) : undefined;
        if (movedTo !== undefined) found = find.get(eventSeq, movedTo);
        const state = found && DELIVERY_STATES[found.state];
        if (state !== undefined) results[state === "pending" || state === "sending" ? "open" : state]++;
      }
      return results;
    },

    listReplays({ tenantId, status }, page) {
      const { sql, values } = allOf([
        ["tenant_id = ?", tenantId],
        ["status = ?", status],
        ["seq < ?", ...parseCursor(page.cursor, 1)],
      ]);
      const select = prepare(`select ${REPLAY} from replays where ${sql} order by seq desc limit ?`);
      return readPage(select, values, page, cursorOfSeq, toReplay);
    },
  };
}

export function createWalks(prepare: Prepare): AtOnce<Reads, "walk" | "countReopened"> {
  return {
    walk(walk, after, page) {
      const { sql, values } = WALKS[walk.over](walk, after);
      const found: FoundDelivery[] = [];
      let last = after;
      let scanned = 0;
      const rows = prepare(sql).all(...values, page.maxScanned);
      for (const { eventSeq, subscriptionSeq, state, move, type, isWanted } of rows) {
        if (found.length === page.limit) return { found, after: last, isEnd: false };
        last = { eventSeq, subscriptionSeq };
        scanned++;
        if (isWanted === 1) found.push({ ...last, isMissing: state === null, movedTo: readMove(move), type });
      }
      return { found, after: last, isEnd: scanned < page.maxScanned };
    },

    countReopened(subscriptionSeqs, limit) {
      const count = prepare(`
        select count(*) as open from (
          select 1 from deliveries where subscription_seq = ? and state < ${ENDED} and next_trigger = ${ATTEMPT_TRIGGERS.indexOf("replay")} limit ?)`);
      return subscriptionSeqs.map((seq) => count.get(seq, limit).open);
    },
  };
}

const MOVE = `case when d.state = ${STATE.cancelled} and d.last_error like '${MOVED}%' then d.last_error end`;

/** Conditions become a column instead of a `where`: so a walk without matches still ends at its row limit. */
function wantedBy(walk: ReplayWalk, first: string) {
  const time = walk.over === "dead" ? "d.completed_at" : "e.received_at";
  return allOf(
    [
      walk.over === "events"
        ? ["e.tenant_id in (select value from json_each(?))", walk.tenants && JSON.stringify(walk.tenants)]
        : [`${OWNER} = ?`, walk.tenantId],
      ["e.type = ?", walk.type],
      ["e.source = ?", walk.source],
      ["d.dead_reason = ?", walk.reason],
      [`${time} >= ?`, walk.since],
      [`${time} < ?`, walk.until],
      ["d.subscription_seq = ?", walk.over === "ended" || walk.over === "open" ? walk.subscriptionSeq : undefined],
    ],
    first,
  );
}

const WALKED = `d.event_seq as eventSeq, d.subscription_seq as subscriptionSeq, d.state, ${MOVE} as move, e.type`;

function walkDead(walk: ReplayWalk, after: DeliveryKey) {
  const wanted = wantedBy(walk, "true");
  const among = allOf(
    [
      ["(d.event_seq, d.subscription_seq) > (?, ?)", after.eventSeq, after.subscriptionSeq],
      ["d.event_seq <= ?", walk.upToSeq],
      // Rows of other subscriptions are skipped within the index, which is too cheap to count.
      ["d.subscription_seq = ?", walk.subscriptionSeq],
    ],
    `d.state = ${STATE.dead}`,
  );
  return {
    sql: `
      select ${WALKED}, (${wanted.sql}) as isWanted
      from deliveries d indexed by dead_letters_by_event join events e on e.seq = d.event_seq
      where ${among.sql} order by d.event_seq, d.subscription_seq limit ?`,
    values: [...wanted.values, ...among.values],
  };
}

function walkDeliveries(walk: ReplayWalk, after: DeliveryKey) {
  const openState = walk.isPending === true ? `d.state = ${STATE.pending}` : `d.state < ${ENDED}`;
  const wanted = wantedBy(walk, walk.over === "open" ? openState : `d.state >= ${ENDED}`);
  return {
    sql: `
      select ${WALKED}, (${wanted.sql}) as isWanted
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
  const wanted = wantedBy(walk, had);
  const values = had.includes("?") ? [walk.now, ...wanted.values] : wanted.values;
  return {
    sql: `
      select e.seq as eventSeq, ? as subscriptionSeq, d.state, ${MOVE} as move, e.type, (${wanted.sql}) as isWanted
      from events e left join deliveries d on d.event_seq = e.seq and d.subscription_seq = ?
      where e.seq > ? and e.seq <= ? order by e.seq limit ?`,
    values: [subscriptionSeq, ...values, subscriptionSeq, after.eventSeq, walk.upToSeq],
  };
}

const WALKS = { dead: walkDead, ended: walkDeliveries, open: walkDeliveries, events: walkEvents } as const;
