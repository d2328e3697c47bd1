import { ENDED, STATE, rankOfReplay, MOVED, readMove } from "../../model/delivery.ts";
import { refuse, type Refused } from "../../model/errors.ts";
import { isOver, opensDeliveries, type ReplayFilter, type ReplayKind, type ReplayStatus } from "../../model/replay.ts";
import type { AuditNote } from "../port/audit.ts";
import type {
  FoundDelivery,
  NewReplay,
  ReplayItem,
  ReplayPage,
  ReplayResults,
  ReplayRow,
  ReplayRowFilter,
  ReplayStep,
  ReplayStepResult,
  ReplayWalk,
} from "../port/jobs.ts";
import { ATTEMPT_TRIGGERS, type DeliveryKey } from "../port/lanes.ts";
import type { Page, PageOf } from "../port/reads.ts";
import type { CommandParts } from "./commands.ts";
import type { Database } from "./connection.ts";
import { createPurge } from "./move.ts";
import { allOf, asFields, cursorOfSeq, OWNER, parseCursor, readPage, toRow, type Prepare } from "./query-rows.ts";

/** How many ended jobs are kept, as a log. */
const KEPT = 1000;
/** How many of the deliveries that a job opens are kept with it, to tell what became of them. */
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
  const { seq: _, filter, totalIsExact, cursor, ...rest } = toRow<ReplaySql>(row);
  return {
    ...rest,
    filter: JSON.parse(filter) as ReplayFilter,
    totalIsExact: totalIsExact === 1,
    cursor: splitCursor(cursor).cursor,
  };
}

export function createReplayWrites(
  db: Database,
  { moves, accept, audit, at }: Pick<CommandParts, "moves" | "accept" | "audit" | "at">,
) {
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
  const findLiveSubscription = db.prepare("select 1 from records where seq = ? and deleted_at is null");
  const markReplayed = db.prepare(`
    update deliveries set next_trigger = ${ATTEMPT_TRIGGERS.indexOf("replay")},
      rank = case when rank is null then null else ? end
    where event_seq = ? and subscription_seq = ?`);
  const purge = createPurge(db, moves);

  function findById(id: string): ReplaySql | undefined {
    return find.get(id);
  }

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
    insertReplay(replay: NewReplay): ReplayRow {
      const known = findById(replay.id);
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

    setReplayStatus(id: string, status: ReplayStatus, error?: string, note?: AuditNote): ReplayRow | Refused {
      const row = findById(id);
      if (row === undefined) return refuseUnknown(id);
      if (row.status === status) return toReplay(row);
      if (isOver(row.status)) {
        return refuse("conflict", `The replay ${id} is ${row.status} and can no longer be changed.`);
      }
      if (note !== undefined) audit.append([note], at.wall);
      return toReplay(setStatus.get(status, isOver(status) ? at.wall : null, error ?? null, id));
    },

    stepReplay(step: ReplayStep, items: readonly ReplayItem[]): ReplayStepResult | Refused {
      const row = findById(step.id);
      if (row === undefined) return refuseUnknown(step.id);
      const { cursor, opened } = splitCursor(row.cursor);
      if (row.status !== "running" || cursor !== step.cursorFrom) {
        return { changed: undefined, replay: toReplay(row) };
      }
      const mayOpen = createMemo((seq) => findLiveSubscription.get(seq) !== undefined);
      const needsSubscription = row.kind !== "cancel" && row.kind !== "purge";
      const outcomes = items.map((item) =>
        needsSubscription && !mayOpen(item.subscriptionSeq) ? "failed" : change(row.kind, item),
      );
      const count = (wanted: Outcome) => outcomes.filter((outcome) => outcome === wanted).length;
      const followed = opensDeliveries(row.kind)
        ? [...opened, ...items.filter((_, i) => outcomes[i] === "done")].slice(0, FOLLOWED)
        : opened;
      const moved = moveOn.get(
        step.id,
        joinCursor(step.cursorTo, followed),
        count("done"),
        count("skipped"),
        count("failed") + step.failed,
        step.isEnd ? "completed" : "running",
        step.isEnd ? at.wall : null,
      );
      return {
        changed: outcomes.map((outcome) => outcome === "done"),
        replay: toReplay(moved),
      };
    },
  };
}

type Outcome = "done" | "skipped" | "failed";

function refuseUnknown(id: string): Refused {
  return refuse("not_found", `There is no replay ${id}.`);
}

function createMemo(find: (seq: number) => boolean): (seq: number) => boolean {
  const known = new Map<number, boolean>();
  return (seq) => {
    let found = known.get(seq);
    if (found === undefined) known.set(seq, (found = find(seq)));
    return found;
  };
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

export function createReplayReads(prepare: Prepare) {
  return {
    findReplay(id: string): ReplayRow | undefined {
      const row = prepare(`select ${REPLAY} from replays where id = ?`).get(id);
      return row === undefined ? undefined : toReplay(row);
    },

    loadReplayResults(id: string): ReplayResults {
      const row = prepare("select cursor from replays where id = ?").get(id) as { cursor: string } | undefined;
      const find = prepare("select state, last_error from deliveries where event_seq = ? and subscription_seq = ?");
      const results: ReplayResults = { delivered: 0, dead: 0, open: 0, cancelled: 0 };
      for (const { eventSeq, subscriptionSeq } of splitCursor(row?.cursor ?? "").opened) {
        const opened: FoundState | undefined = find.get(eventSeq, subscriptionSeq);
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

    listReplays({ tenantId, status }: ReplayRowFilter, page: Page): PageOf<ReplayRow> {
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

function walkDead(walk: ReplayWalk, after: DeliveryKey) {
  const wanted = wantedBy(walk, "true");
  const { subscriptionSeq } = walk;
  return {
    // Rows of other subscriptions are skipped within the index, which is too cheap to count.
    sql: `
      select d.event_seq, d.subscription_seq, d.state, ${MOVE} as move, e.type, (${wanted.sql}) as is_wanted
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
  const wanted = wantedBy(walk, walk.over === "open" ? openState : `d.state >= ${ENDED}`);
  return {
    sql: `
      select d.event_seq, d.subscription_seq, d.state, ${MOVE} as move, e.type, (${wanted.sql}) as is_wanted
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
      select e.seq as event_seq, ? as subscription_seq, d.state, ${MOVE} as move, e.type, (${wanted.sql}) as is_wanted
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
