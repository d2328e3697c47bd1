import { STATE } from "../../model/delivery.ts";
import type { Ages } from "../../model/retention.ts";
import { BATCH_LIMITS } from "../commit/batch.ts";
import type { Pruned, PruneStep } from "../port/jobs.ts";
import type { AcceptOptions } from "./accept.ts";
import { createAttemptFormRemoval } from "./attempt-forms.ts";
import { createAttemptsOfEvents } from "./attempts.ts";
import type { Database } from "./connection.ts";
import { createEventRemoval, type RemovedEvent } from "./event-removal.ts";
import { createKnownIds } from "./known-ids.ts";
import type { RequestRing } from "./request-ring.ts";
import { createRetentionWalk } from "./retention-walk.ts";
import { MESSAGE_STATE } from "./taken-messages.ts";

const { pending, sending, dead } = STATE;

/** A delivery that has just ended may still get a late attempt. */
const JUST_ENDED_MS = 3_600_000;

/**
 * A message that has not come again for so long after its event ended, and after its id would have been forgotten, is
 * no longer in its queue: it was purged there, expired, or was taken by another consumer. Nobody tells.
 */
const MESSAGE_GONE_MS = 90 * 86_400_000;

export function createRetention(db: Database, options: AcceptOptions & { ring: Pick<RequestRing, "forget"> }) {
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
  const selectRequests = db.prepare(`
    select seq, ring, tenant_id as tenantId, received_at as receivedAt, coalesce(length(body), 0) as size
    from requests where seq > ? order by seq limit ?`);
  const removeRequest = db.prepare("delete from requests where seq = ?");
  const walk = createRetentionWalk(db);
  const ids = createKnownIds(db, options);
  const removal = createEventRemoval(db, ids);
  const removeForms = createAttemptFormRemoval(db);

  /** Erases answers of an event that stays. Returns how many, and when the next are due. */
  function erase({ seq, receivedAt }: OldEvent, { answers }: Ages, wall: number, maxRows: number): [number, number] {
    if (receivedAt + answers > wall) return [0, receivedAt + answers];
    const erased = attemptsOfEvents.eraseAnswers(seq, wall - answers, maxRows);
    const at = attemptsOfEvents.findFirstAnswer(seq);
    return [erased, at === undefined ? Number.POSITIVE_INFINITY : at + answers];
  }

  function pruneBlock(place: { block: number; afterSeq: number; upToSeq: number }, step: AgeStep) {
    const { rules, wall, maxRows } = step;
    const agesOfTenant = new Map(rules.tenants);
    const events = selectEvents.all(place.afterSeq, place.upToSeq, maxRows) as unknown as OldEvent[];
    const sum = { removed: 0, deliveries: 0, answers: 0, bytes: 0, afterSeq: place.afterSeq };
    let run: OldEvent[] = [];
    let rows = 0;
    const endRun = () => {
      if (run.length > 0) sum.deliveries += removal.removeRun(run, wall);
      sum.removed += run.length;
      run = [];
    };
    for (const event of events) {
      const stand = selectDeliveries.get(event.seq) as unknown as Stand;
      const ages = agesOfTenant.get(event.tenantId) ?? rules.gateway;
      const dueAt = dueAtOf(event, stand, ages, options.dedupeHorizonMs);
      if (dueAt > wall) {
        endRun();
        const [erased, nextDueAt] = erase(event, ages, wall, maxRows - rows);
        sum.answers += erased;
        rows += erased + 1;
        walk.noteKept(event.seq, Math.min(dueAt, nextDueAt));
        if (nextDueAt <= wall) return cut();
      } else {
        const cost = 1 + stand.deliveries + stand.attempts;
        if (rows > 0 && (rows + cost > maxRows || sum.bytes + event.size > BATCH_LIMITS.maxBytes)) return cut();
        if (cost > maxRows && stand.deliveries > 0) {
          sum.deliveries += removal.removePart(event.seq, maxRows);
          return cut();
        }
        run.push(event);
        rows += cost;
        sum.bytes += event.size;
      }
      sum.afterSeq = event.seq;
      if (rows >= maxRows) return cut();
    }
    endRun();
    if (events.length < maxRows) {
      sum.afterSeq = place.upToSeq;
      walk.finish(place.block);
    }
    return sum;

    function cut() {
      endRun();
      return sum;
    }
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
    forgetRing: (ring: string) => options.ring.forget(ring),
    pruneEvents: stepOn,

    pruneRequests({ afterSeq, rules, wall, maxRows }: AgeStep): Pick<Pruned, "removed" | "afterSeq" | "isEnd"> {
      const agesOfTenant = new Map(rules.tenants);
      const requests = selectRequests.all(afterSeq, maxRows) as unknown as OldRequest[];
      let [removed, bytes, reached] = [0, 0, afterSeq];
      for (const { seq, ring, tenantId, receivedAt, size } of requests) {
        if (receivedAt + (agesOfTenant.get(tenantId) ?? rules.gateway).requests <= wall) {
          if (removed > 0 && bytes + size > BATCH_LIMITS.maxBytes) break;
          removeRequest.run(seq);
          options.ring.forget(ring);
          removed++;
          bytes += size;
        }
        reached = seq;
      }
      const isEnd = requests.length < maxRows && reached === (requests.at(-1)?.seq ?? afterSeq);
      return { removed, afterSeq: reached, isEnd };
    },
  };
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

interface OldRequest {
  seq: number;
  ring: string;
  tenantId: string;
  receivedAt: number;
  size: number;
}
