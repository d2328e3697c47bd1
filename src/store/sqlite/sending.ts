import { STATE, MAX_RECOVERIES } from "../../model/delivery.ts";
import { UNSENT } from "../../model/outcome.ts";
import { readLastSeq } from "./event-ids.ts";
import type { Database } from "./connection.ts";
import { isCorruption } from "./faults.ts";
import { readEach, type UnreadableRows } from "./checked-rows.ts";
import type { AttemptRecord, DeadDelivery, Lanes, Recovered, SentMark } from "../port/lanes.ts";
import type { BatchTime } from "../commit/batch.ts";
import { unlessEmpty } from "./claim.ts";
import type { DeliveryRow, Moves } from "./move.ts";
import type { AtOnce } from "./query-rows.ts";
import type { Settle } from "./settle.ts";

/** A key in `meta`. Deliveries being sent of this event and later ones are found by a scan, and need no index row. */
const WALKED_FROM = "sending_from";

/** Nearly all of these deliveries end a moment later. */
const IS_WALKED = `state = ${STATE.sending} and listed = 0`;

/** All deliveries being sent: older ones through their index, the newest by a scan. */
export const SENDING_ROWS = `
  select event_seq, subscription_seq from deliveries where state = ${STATE.sending} and listed = 1
  union all
  select event_seq, subscription_seq from deliveries
  where event_seq >= coalesce((select value from meta where key = '${WALKED_FROM}'), 0) and ${IS_WALKED}`;

/** All open deliveries: those in their lanes, those being sent, and those behind another of their ordering key. */
export const OPEN_ROWS = `
  select event_seq from deliveries where state = ${STATE.pending} and rank is not null
  union all select event_seq from (${SENDING_ROWS})
  union all select event_seq from deliveries where queued_key is not null and rank is null and state = ${STATE.pending}`;

/** After this many new deliveries the scan's start moves on, faster than they come, by at most a millisecond. */
const NEW_ROWS = 1024;
const STEP_ROWS = 2048;

/** Keeps the place where such a scan must begin. */
export function createSendingWalk(db: Database) {
  const selectPlace = db.prepare(`select value as seq from meta where key = '${WALKED_FROM}'`);
  const savePlace = db.prepare(
    `insert or replace into meta (key, value) values ('${WALKED_FROM}', cast(? as integer))`,
  );
  const walk = "from deliveries where (event_seq, subscription_seq) >= (?, ?) order by event_seq, subscription_seq";
  const selectFirst = db.prepare(`
    select event_seq, subscription_seq from (
      select event_seq, subscription_seq, state, listed ${walk} limit ${STEP_ROWS})
    where ${IS_WALKED} limit 1`);
  const selectEnd = db.prepare(`select event_seq, subscription_seq ${walk} limit 1 offset ${STEP_ROWS - 1}`);

  let newRows = 0;
  let saved = 0;
  /** A page cannot be read: the scan's start stays before it until the next process. */
  let isStuck = false;
  /** Where the next step begins. A single event may have more deliveries than one step. */
  let place: Place = { event_seq: 0, subscription_seq: 0 };
  load();

  function load(): void {
    newRows = 0;
    saved = selectPlace.get()?.seq ?? 0;
    // In a copy without events the numbers start again.
    const nextSeq = readLastSeq(db) + 1;
    if (saved > nextSeq) save(nextSeq);
    place = { event_seq: saved, subscription_seq: 0 };
  }

  function save(seq: number): void {
    if (seq !== saved) savePlace.run(seq);
    saved = seq;
  }

  function findNext({ event_seq, subscription_seq }: Place): Place | undefined {
    try {
      return selectFirst.get(event_seq, subscription_seq) ?? selectEnd.get(event_seq, subscription_seq);
    } catch (error) {
      isStuck = isCorruption(error);
      throw error;
    }
  }

  return {
    /** Deliveries up to this event need an index row when they are claimed: the scan's start has passed them. */
    get passedSeq(): number {
      return place.event_seq;
    },
    countNewRow(): void {
      newRows++;
    },
    write() {
      if (newRows < NEW_ROWS || isStuck) return;
      newRows = 0;
      // If fewer rows than one step are left and none is being sent, it waits for more.
      place = findNext(place) ?? place;
      save(place.event_seq);
    },
    rollback: load,
  };
}

export type SendingWalk = ReturnType<typeof createSendingWalk>;

interface Place {
  event_seq: number;
  subscription_seq: number;
}

/** Lists all deliveries being sent, except those on pages that SQLite cannot read. */
function createSendingList(db: Database, unreadable: Pick<UnreadableRows, "record">): () => Place[] {
  const selectAll = db.prepare(`${SENDING_ROWS} order by event_seq, subscription_seq`);
  const selectListed = db.prepare(`
    select event_seq, subscription_seq from deliveries where state = ${STATE.sending} and listed = 1`);
  const selectOfEvent = db.prepare(`
    select event_seq, subscription_seq from deliveries where event_seq = ? and ${IS_WALKED}`);
  const selectFrom = db.prepare(`select value as seq from meta where key = '${WALKED_FROM}'`);
  /** Events with deliveries that cannot be read; undefined until such a page is met. */
  let gaps: Set<number> | undefined;

  /** Records the gaps that it meets. */
  function listAround(known: Set<number>): Place[] {
    const from: number = selectFrom.get()?.seq ?? 0;
    const walked = readEach(numbersFrom(from, readLastSeq(db)), (seq) => {
      if (known.has(seq)) return undefined;
      try {
        return selectOfEvent.all(seq);
      } catch (error) {
        known.add(seq);
        throw error;
      }
    });
    return [...selectListed.all(), ...walked.flat()];
  }

  return () => {
    if (gaps !== undefined) return listAround(gaps);
    try {
      return selectAll.all();
    } catch (error) {
      if (!isCorruption(error)) throw error;
      gaps = new Set();
      try {
        listAround(gaps);
      } finally {
        const [first, last] = [[...gaps][0], [...gaps].at(-1)];
        const why = (error as Error).message;
        if (first !== undefined)
          unreadable.record(`deliveries of the events ${first} to ${last} cannot be read: ${why}`);
      }
      throw error;
    }
  };
}

function* numbersFrom(first: number, last: number): Generator<number> {
  for (let number = first; number <= last; number++) yield number;
}

const STOPPED = "gateway stopped";

export function createRecover(
  db: Database,
  moves: Moves,
  unreadable: UnreadableRows,
  settle: Settle,
  nextDueAt: (subscriptionSeq: number) => number | undefined,
  at: Readonly<BatchTime>,
): AtOnce<Lanes, "release" | "recover" | "load"> {
  const selectSubscriptions = db.prepare("select seq from records where kind = 'subscription'");
  const listSending = createSendingList(db, unreadable);
  const selectEvent = db.prepare("select id as eventId, type as eventType from events where seq = ?");

  function loadSending(): DeliveryRow[] {
    return readEach(listSending(), ({ event_seq, subscription_seq }) =>
      unreadable.hasDelivery(event_seq, subscription_seq) ? undefined : moves.find(event_seq, subscription_seq),
    );
  }

  return {
    /** Returns unsent deliveries to their lanes. */
    release(deliveries) {
      for (const d of deliveries) moves.release(d.eventSeq, d.subscriptionSeq, d.generation);
    },
    recover(sent, wasStopped = false) {
      const { now, wall } = at;
      const counts: Recovered = { released: 0, interrupted: 0, poisoned: 0 };
      const poisoned: DeadDelivery[] = [];
      // A freed slot keeps its last mark, so a delivery may have several marks: of this attempt and of earlier ones.
      const marks = new Set(sent.map(attemptName));
      for (const row of loadSending()) {
        const { eventSeq, subscriptionSeq, generation } = row;
        const next = row.attemptCount + 1;
        if (!marks.has(attemptName({ eventSeq, subscriptionSeq, generation, attemptNumber: next }))) {
          moves.release(eventSeq, subscriptionSeq, generation);
          counts.released++;
          continue;
        }
        const number = settle.recordAttempt(eventSeq, subscriptionSeq, next, stoppedAttempt(wall));
        const recoveries = wasStopped ? 0 : row.recoveries + 1;
        if (recoveries >= MAX_RECOVERIES) {
          const error = `the gateway stopped ${MAX_RECOVERIES} times in a row while sending this delivery`;
          moves.end(row, "dead", { attemptCount: number, deadReason: "poison", error, leavesKeyQueue: false });
          counts.poisoned++;
          const event: Pick<DeadDelivery, "eventId" | "eventType"> = selectEvent.get(eventSeq);
          poisoned.push({ eventSeq, subscriptionSeq, ...event, reason: "poison", attemptCount: number });
        } else {
          const uncountedAttempts = row.uncountedAttempts + number - row.attemptCount;
          moves.makeDue(row, now, {
            act: "recover",
            attemptCount: number,
            uncountedAttempts,
            recoveries,
            error: STOPPED,
          });
          counts.interrupted++;
        }
      }
      counts.dead = unlessEmpty(poisoned);
      return counts;
    },
    load: () =>
      selectSubscriptions.all().flatMap(({ seq: subscriptionSeq }) => {
        const dueAt = nextDueAt(subscriptionSeq);
        return dueAt === undefined ? [] : [{ subscriptionSeq, nextDueAt: dueAt }];
      }),
  };
}

export type Recover = ReturnType<typeof createRecover>;

function attemptName({ eventSeq, subscriptionSeq, generation, attemptNumber }: SentMark): string {
  return `${eventSeq} ${subscriptionSeq} ${generation} ${attemptNumber}`;
}

function stoppedAttempt(startedAt: number): AttemptRecord {
  const record = { ...UNSENT, place: undefined, sent: undefined };
  return { startedAt, durationMs: 0, result: "error", trigger: "retry", error: STOPPED, record };
}
