import { ATTEMPT_RESULTS } from "../../model/outcome.ts";
import { ATTEMPT_TRIGGERS } from "../port/lanes.ts";
import type {
  DeletedSpan,
  LogPage,
  LogPosition,
  LogReads,
  LogRequest,
  LoggedAttempt,
  LoggedAttemptFacts,
  LoggedEvent,
} from "../port/log-reads.ts";
import { readLastAttemptSeq } from "./attempts.ts";
import type { Database } from "./connection.ts";
import { DELIVERY_COLUMNS, toDelivery, type DeliverySql } from "./delivery-reads.ts";
import { readLastSeq } from "./event-ids.ts";
import { EVENT_COLUMNS, toEvent } from "./event-reads.ts";
import { OWNER, readAtOnce, toRow, type AtOnce, type Prepare } from "./query-rows.ts";

/** The maximum bytes of bodies in one page; a page always has at least one event. */
const PAGE_BODY_BYTES = 1_048_576;

const EVENTS = `
  select ${EVENT_COLUMNS}, e.size <= ?4 or e.type in (select value from json_each(?5)) as hasBody,
    (select json_group_array(d.subscription_seq) from deliveries d
      where d.event_seq = e.seq and d.subscription_seq in (select value from json_each(?6))) as subscriptionSeqs
  from events e where e.seq > ?1 and e.seq <= ?2 and (?3 is null or e.tenant_id = ?3) order by e.seq`;

const ATTEMPTS = `
  select ${DELIVERY_COLUMNS}, e.source, e.ordering_key as orderingKey, a.seq, a.number, a.started_at as startedAt, a.duration_ms as durationMs,
    a.result, a.cause, a.response_code as code, a.error
  from attempts a join deliveries d on d.event_seq = a.event_seq and d.subscription_seq = a.subscription_seq
    join events e on e.seq = a.event_seq join records s on s.seq = a.subscription_seq
  where a.seq > ?1 and a.seq <= ?2 and (?3 is null or ${OWNER} = ?3) order by a.seq`;

/** One writer assigns the numbers and commits in their order, so everything up to the last number is visible. */
export function createLogReads(
  db: Database,
  prepare: Prepare,
  findSoundBody: (eventSeq: number) => Uint8Array | undefined,
): AtOnce<LogReads, "findLogEnd" | "readLog"> {
  const findLogEnd = () => ({ eventSeq: readLastSeq({ prepare }), attemptSeq: readLastAttemptSeq({ prepare }) });

  /** The last number that a page covers; beyond deleted rows, up to the next existing one. */
  function coverNumbers(log: "events" | "attempts", after: number, last: number, limit: number): number {
    const cut = Math.min(last, after + limit);
    if (cut === last || prepare(`select 1 from ${log} where seq > ? and seq <= ? limit 1`).get(after, cut)) return cut;
    const next = prepare(`select min(seq) as seq from ${log} where seq > ?`).get(cut);
    return next.seq === null ? last : Math.min(last, next.seq - 1);
  }

  /** The last number up to which the bodies fit into a page. */
  function fitBodies(after: number, upTo: number, maxBodyBytes: number): number {
    const sizes = prepare("select seq, size from events where seq > ? and seq <= ? order by seq");
    let bytes = 0;
    for (const { seq, size } of sizes.all(after, upTo)) {
      if (bytes > 0 && bytes + Math.min(size, maxBodyBytes) > PAGE_BODY_BYTES) return seq - 1;
      if (size <= maxBodyBytes) bytes += size;
    }
    return upTo;
  }

  /** Stops before an incomplete fan-out: readers that ask for subscriptions would miss deliveries added later. */
  function waitForFanOut(after: number, upTo: number, since: number): number {
    const select = prepare(`
      select min(seq) as seq from events
      where fan_out_cursor is not null and seq > ? and seq <= ? and published_at >= ?`);
    const { seq } = select.get(after, upTo, since);
    return seq === null ? upTo : seq - 1;
  }

  function findDeleted(after: number, upTo: number): DeletedSpan | undefined {
    const select = prepare("select seq from events where seq > ? and seq <= ? order by seq desc");
    const rows: { seq: number }[] = select.all(after, upTo);
    if (rows.length === upTo - after) return undefined;
    const gapAt = rows.findIndex(({ seq }, i) => seq !== upTo - i);
    const complete = upTo - (gapAt === -1 ? rows.length : gapAt);
    const next = prepare("select received_at as at from events where seq > ? order by seq limit 1").get(complete);
    return { completeSince: next?.at };
  }

  function readEvents(after: number, upTo: number, request: LogRequest): LoggedEvent[] {
    const { tenantId, maxBodyBytes = -1, bodiesOf = [], subscriptionSeqs = [] } = request;
    const lists = [JSON.stringify(bodiesOf), JSON.stringify(subscriptionSeqs)];
    const rows = prepare(EVENTS).all(after, upTo, tenantId ?? null, maxBodyBytes, ...lists);
    return rows.map(({ hasBody, subscriptionSeqs: found, ...row }) => ({
      ...toEvent(row),
      body: hasBody === 1 ? findSoundBody(row.seq) : undefined,
      subscriptionSeqs: JSON.parse(found) as number[],
    }));
  }

  /** Attempts whose events were not read yet must wait for them. */
  function cutAttempts(after: number, upTo: number, eventSeq: number): number {
    const select = prepare("select min(seq) as seq from attempts where seq > ? and seq <= ? and event_seq > ?");
    const { seq } = select.get(after, upTo, eventSeq);
    return seq === null ? upTo : seq - 1;
  }

  function readPage(after: LogPosition, request: LogRequest): LogPage {
    const { limit, upTo = findLogEnd(), maxBodyBytes, subscriptionSeqs = [], fanOutSince = 0 } = request;
    let ready = upTo.eventSeq;
    if (subscriptionSeqs.length > 0) ready = waitForFanOut(after.eventSeq, ready, fanOutSince);
    let eventSeq = coverNumbers("events", after.eventSeq, ready, limit);
    if (maxBodyBytes !== undefined) eventSeq = fitBodies(after.eventSeq, eventSeq, maxBodyBytes);
    const covered = coverNumbers("attempts", after.attemptSeq, upTo.attemptSeq, limit);
    const attemptSeq = cutAttempts(after.attemptSeq, covered, eventSeq);
    const selectAttempts = () => prepare(ATTEMPTS).all(after.attemptSeq, attemptSeq, request.tenantId ?? null);
    return {
      events: request.of === "attempts" ? [] : readEvents(after.eventSeq, eventSeq, request),
      attempts: request.of === "events" ? [] : selectAttempts().map(toLoggedAttempt),
      position: { eventSeq, attemptSeq },
      // Attempts that wait for an unfinished fan-out are no reason to read again at once.
      isEnd: eventSeq === ready && (attemptSeq === upTo.attemptSeq || ready < upTo.eventSeq),
      deleted: findDeleted(after.eventSeq, eventSeq),
    };
  }

  return {
    findLogEnd,
    /** Of one moment, so that every attempt finds its event. */
    readLog: (after, request) => readAtOnce(db, () => readPage(after, request)),
  };
}

interface AttemptRow
  extends
    DeliverySql,
    Pick<LoggedAttempt, "seq" | "source" | "orderingKey">,
    Omit<LoggedAttemptFacts, "result" | "trigger"> {
  result: number;
  cause: number;
}

function toLoggedAttempt(row: AttemptRow): LoggedAttempt {
  const { seq, source, orderingKey, number, startedAt, durationMs, code, error, ...rest } = toRow(row);
  const { result, cause, ...delivery } = rest;
  const kinds = { result: ATTEMPT_RESULTS[result] ?? "error", trigger: ATTEMPT_TRIGGERS[cause] ?? "first" } as const;
  const attempt = { number, startedAt, durationMs, ...kinds, code, error };
  return { seq, source, orderingKey, delivery: toDelivery(delivery), attempt };
}
