import { STATE, rankOfReplay } from "../../model/delivery.ts";
import { PRIORITIES } from "../../model/event.ts";
import { refuse, type Refused } from "../../model/errors.ts";
import { isOver, opensDeliveries, type ReplayFilter, type ReplayKind, type ReplayStatus } from "../../model/replay.ts";
import type { AuditNote } from "../port/audit.ts";
import type { NewReplay, ReplayItem, ReplayRow, ReplayStep, ReplayStepResult } from "../port/jobs.ts";
import { ATTEMPT_TRIGGERS, type DeliveryKey } from "../port/lanes.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Accept } from "./accept.ts";
import type { AuditLog } from "./audit.ts";
import type { Database } from "./connection.ts";
import { COUNT_LATER_DELIVERY } from "./counters.ts";
import type { Moves } from "./move.ts";
import { createPurge } from "./purge.ts";

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

export function createReplayWrites(
  db: Database,
  { moves, accept, audit, at }: { moves: Moves; accept: Accept; audit: AuditLog; at: Readonly<BatchTime> },
) {
  const insert = db.prepare(`
    insert into replays (id, tenant_id, kind, status, filter, subscription_seq, lane_seq, after_seq, up_to_seq, cursor,
      total, total_is_exact, created_at, started_at)
    values (?1, ?2, ?3, 'running', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) returning *`);
  const trim = db.prepare(`
    delete from replays where status not in ('running', 'paused')
      and seq <= (select max(seq) from replays) - ${KEPT}`);
  const find = db.prepare("select * from replays where id = ?");
  const setStatus = db.prepare(`
    update replays set status = ?1, completed_at = ?2, error = ?3,
      total = iif(?1 = 'completed', done + skipped + failed, total),
      total_is_exact = max(total_is_exact, ?1 = 'completed')
    where id = ?4 returning *`);
  const moveOn = db.prepare(`
    update replays set cursor = ?2, done = done + ?3, skipped = skipped + ?4, failed = failed + ?5,
      total = max(iif(?6 = 'completed', 0, total), done + skipped + failed + ?3 + ?4 + ?5),
      total_is_exact = max(total_is_exact, ?6 = 'completed'), status = ?6, completed_at = ?7
    where id = ?1 returning *`);
  const findLiveSubscription = db.prepare("select 1 from records where seq = ? and deleted_at is null");
  const selectEvent = db.prepare("select priority, ordering_key, due_at from events where seq = ?");
  const countDelivery = db.prepare(COUNT_LATER_DELIVERY);
  const markReplayed = db.prepare(`
    update deliveries set next_trigger = ${ATTEMPT_TRIGGERS.indexOf("replay")},
      rank = case when rank is null then null else ? end
    where event_seq = ? and subscription_seq = ?`);
  const purge = createPurge(db, moves);

  function findById(id: string): ReplaySql | undefined {
    return find.get(id);
  }

  function make({ eventSeq, subscriptionSeq, ordered, expiresAt }: ReplayItem): Outcome {
    const event = selectEvent.get(eventSeq) as unknown as EventSql | undefined;
    if (event === undefined) return "failed";
    const dueAt = Math.max(at.now, event.due_at);
    const made = accept.insertDelivery(
      {
        eventSeq,
        dueAt,
        priority: PRIORITIES[event.priority] ?? "normal",
        orderingKey: event.ordering_key ?? undefined,
      },
      { subscriptionSeq, claim: false, ordered, expiresAt },
      at.wall,
    );
    if (made === undefined) return "skipped";
    markReplayed.run(rankOfReplay(dueAt), eventSeq, subscriptionSeq);
    countDelivery.run(eventSeq, subscriptionSeq);
    return "done";
  }

  function change(kind: ReplayKind, item: ReplayItem): Outcome {
    const row = moves.find(item.eventSeq, item.subscriptionSeq);
    if (row === undefined) return item.isMissing ? make(item) : "skipped";
    if (item.isMissing || !TAKES[kind].includes(row.state)) return "skipped";
    if (kind === "cancel") {
      moves.end(row, "cancelled", { endedAt: at.wall, attemptCount: row.attempt_count, leavesKeyQueue: true });
    } else if (kind === "purge") {
      purge(row, at.wall);
    } else {
      const { ordered, expiresAt } = item;
      moves.reopen(row, at.now, "replay", { ordered, expiresAt, isBulk: true });
    }
    return "done";
  }

  return {
    insertReplay(replay: NewReplay): ReplayRow {
      const known = findById(replay.id);
      if (known !== undefined) return fromReplaySql(known);
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
      return fromReplaySql(row);
    },

    setReplayStatus(id: string, status: ReplayStatus, error?: string, note?: AuditNote): ReplayRow | Refused {
      const row = findById(id);
      if (row === undefined) return refuseUnknown(id);
      if (row.status === status) return fromReplaySql(row);
      if (isOver(row.status)) {
        return refuse("conflict", `The replay ${id} is ${row.status} and can no longer be changed.`);
      }
      if (note !== undefined) audit.append([note], at.wall);
      return fromReplaySql(setStatus.get(status, isOver(status) ? at.wall : null, error ?? null, id));
    },

    stepReplay(step: ReplayStep, items: readonly ReplayItem[]): ReplayStepResult | Refused {
      const row = findById(step.id);
      if (row === undefined) return refuseUnknown(step.id);
      const { cursor, opened } = splitCursor(row.cursor);
      if (row.status !== "running" || cursor !== step.cursorFrom) {
        return { changed: undefined, replay: fromReplaySql(row) };
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
        replay: fromReplaySql(moved),
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

interface EventSql {
  priority: number;
  ordering_key: string | null;
  due_at: number;
}

export interface ReplaySql {
  seq: number;
  id: string;
  tenant_id: string | null;
  kind: ReplayKind;
  status: ReplayStatus;
  filter: string;
  subscription_seq: number | null;
  lane_seq: number | null;
  after_seq: number;
  up_to_seq: number;
  cursor: string;
  total: number;
  total_is_exact: number;
  done: number;
  skipped: number;
  failed: number;
  error: string | null;
  created_at: number;
  started_at: number;
  completed_at: number | null;
}

/** The column holds the cursor, and in a second line the deliveries that the job has opened. */
function joinCursor(cursor: string, opened: readonly DeliveryKey[]): string {
  if (opened.length === 0) return cursor;
  const keys = opened.map(
    ({ eventSeq, subscriptionSeq }) => `${eventSeq.toString(36)}.${subscriptionSeq.toString(36)}`,
  );
  return `${cursor}\n${keys.join(" ")}`;
}

export function splitCursor(text: string): { cursor: string; opened: readonly DeliveryKey[] } {
  const [cursor = "", keys = ""] = text.split("\n");
  const opened =
    keys === "" ? [] : keys.split(" ").map((key) => key.split(".").map((part) => Number.parseInt(part, 36)));
  return { cursor, opened: opened.map(([eventSeq = 0, subscriptionSeq = 0]) => ({ eventSeq, subscriptionSeq })) };
}

export function fromReplaySql(row: ReplaySql): ReplayRow {
  return {
    id: row.id,
    tenantId: row.tenant_id ?? undefined,
    kind: row.kind,
    status: row.status,
    filter: JSON.parse(row.filter) as ReplayFilter,
    subscriptionSeq: row.subscription_seq ?? undefined,
    laneSeq: row.lane_seq ?? undefined,
    afterSeq: row.after_seq,
    upToSeq: row.up_to_seq,
    cursor: splitCursor(row.cursor).cursor,
    total: row.total,
    totalIsExact: row.total_is_exact === 1,
    done: row.done,
    skipped: row.skipped,
    failed: row.failed,
    error: row.error ?? undefined,
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at ?? undefined,
  };
}
