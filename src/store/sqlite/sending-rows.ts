import { STATE } from "../../domain/delivery.ts";
import type { Database } from "./connection.ts";
import type { Memory } from "./transactions.ts";

/** In `meta`. Before this event nothing is being sent as it was born. */
const BORN_FROM = "born_sending_from";

/** Sent as it was born: in no index, because nearly all of these end a moment later. */
const IS_BORN = `state = ${STATE.sending} and rank is null`;

/**
 * All that is being sent: what was claimed later, by its index, and what was born so, by a walk over the newest
 * deliveries.
 */
export const SENDING_ROWS = `
  select event_seq, subscription_seq from deliveries where state = ${STATE.sending} and rank is not null
  union all
  select event_seq, subscription_seq from deliveries
  where event_seq >= coalesce((select value from meta where key = '${BORN_FROM}'), 0) and ${IS_BORN}`;

/** After so many new deliveries the walk goes on, faster than they come, and in steps of a millisecond at most. */
const NEW_ROWS = 1024;
const STEP_ROWS = 2048;

/** Keeps the place from where such a walk must begin. */
export interface BornSending extends Required<Memory> {
  noteBirth(): void;
}

/** `nextSeq` is the number that the next event gets. */
export function createBornSending(db: Database, nextSeq: () => number): BornSending {
  const selectPlace = db.prepare(`select value as seq from meta where key = '${BORN_FROM}'`);
  const savePlace = db.prepare(`insert or replace into meta (key, value) values ('${BORN_FROM}', cast(? as integer))`);
  const walk = "from deliveries where (event_seq, subscription_seq) >= (?, ?) order by event_seq, subscription_seq";
  const selectFirst = db.prepare(`
    select event_seq, subscription_seq from (
      select event_seq, subscription_seq, state, rank ${walk} limit ${STEP_ROWS})
    where ${IS_BORN} limit 1`);
  const selectEnd = db.prepare(`select event_seq, subscription_seq ${walk} limit 1 offset ${STEP_ROWS - 1}`);

  let births = 0;
  let saved = 0;
  /** Where the walk goes on. A single event may have more deliveries than one step. */
  let place: Place = { event_seq: 0, subscription_seq: 0 };
  load();

  function load(): void {
    births = 0;
    saved = (selectPlace.get() as { seq: number } | undefined)?.seq ?? 0;
    // Of a copy without its events, whose numbers begin anew.
    if (saved > nextSeq()) save(nextSeq());
    place = { event_seq: saved, subscription_seq: 0 };
  }

  function save(seq: number): void {
    if (seq !== saved) savePlace.run(seq);
    saved = seq;
  }

  function step(): void {
    const { event_seq, subscription_seq } = place;
    const next = selectFirst.get(event_seq, subscription_seq) ?? selectEnd.get(event_seq, subscription_seq);
    // Fewer are left than one step, and none of them is being sent: more will come.
    if (next === undefined) return;
    place = next as Place;
    save(place.event_seq);
  }

  return {
    noteBirth() {
      births++;
    },
    write() {
      if (births < NEW_ROWS) return;
      births = 0;
      step();
    },
    rollback: load,
  };
}

interface Place {
  event_seq: number;
  subscription_seq: number;
}
