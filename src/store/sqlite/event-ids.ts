import type { Database, Statement } from "./connection.ts";

/** One mark for this many sequence numbers. Databases depend on it: it must never grow. */
const MARKED_EVENTS = 128;

/** Finds events by the ids that this gateway generated. */
export interface EventIds {
  /** Notes the number of an event with a generated id. */
  note(seq: number, id: string): void;
  find(id: string): number | undefined;
  /** Forgets what a transaction that did not commit has noted. */
  rollback(): void;
}

/**
 * Ids are generated in nearly the same order in which events are stored. An id that is higher than all before needs no
 * row, except for one in 128. A lower one (the clock was set back, or its event took a while) has a row of its own.
 */
export function createEventIds(db: Database): EventIds {
  const insertMark = db.prepare("insert into event_id_marks (id, event_seq) values (?, ?)");
  const insertRow = db.prepare("insert or ignore into event_ids (id, event_seq) values (?, ?)");
  const selectLastMark = db.prepare("select id, event_seq from event_id_marks order by id desc limit 1");
  const selectHighest = db.prepare(`
    select max(id) as id from events where seq >= ?1 and seq < ?1 + ${MARKED_EVENTS} and given_id = 0`);
  const find = createEventIdLookup((sql) => db.prepare(sql));

  let highest = "";
  let markedPart = -1;
  load();

  function load(): void {
    const mark = selectLastMark.get() as { id: string; event_seq: number } | undefined;
    markedPart = mark === undefined ? -1 : partOf(mark.event_seq);
    // The events of the mark may be deleted.
    highest = mark === undefined ? "" : ((selectHighest.get(mark.event_seq) as { id: string | null }).id ?? mark.id);
  }

  return {
    note(seq, id) {
      if (id <= highest) {
        insertRow.run(id, seq);
        return;
      }
      highest = id;
      if (partOf(seq) === markedPart) return;
      insertMark.run(id, seq);
      markedPart = partOf(seq);
    },
    find,
    rollback: load,
  };
}

/** Removes ids when retention deletes events. */
export function createEventIdRemoval(db: Database) {
  const deleteRows = db.prepare(`
    delete from event_ids where id in (select id from events where seq between ? and ? and given_id = 0)`);
  const deleteMarks = db.prepare(`
    delete from event_id_marks where id in (
      select id from event_id_marks where event_seq + ${MARKED_EVENTS} <= (select min(seq) from events)
      order by id limit ?)`);

  return {
    /** Called before these events are deleted; both ends are included. */
    remove(firstSeq: number, lastSeq: number): void {
      deleteRows.run(firstSeq, lastSeq);
    },
    /** Removes up to `limit` marks that no event needs any more; returns how many. */
    removeOldMarks: (limit: number): number => deleteMarks.run(limit).changes,
  };
}

/** The look-up alone, for read connections. */
export function createEventIdLookup(prepare: (sql: string) => Statement): (id: string) => number | undefined {
  const selectRow = prepare("select event_seq as seq from event_ids where id = ?");
  const selectMark = prepare("select event_seq as seq from event_id_marks where id <= ? order by id desc limit 1");
  const selectAmong = prepare(`
    select seq from events where seq >= ?1 and seq < ?1 + ${MARKED_EVENTS} and id = ?2 and given_id = 0`);
  type Found = { seq: number } | undefined;
  return (id) => {
    const own = selectRow.get(id) as Found;
    if (own !== undefined) return own.seq;
    const mark = selectMark.get(id) as Found;
    return mark === undefined ? undefined : (selectAmong.get(mark.seq, id) as Found)?.seq;
  };
}

function partOf(seq: number): number {
  return Math.floor(seq / MARKED_EVENTS);
}
