import { STATE, MOVED } from "../../model/delivery.ts";
import { refuse } from "../../model/errors.ts";
import type { EventLog } from "../port/event-log.ts";
import { createAttemptsOfEvents } from "./attempts.ts";
import type { CommandParts } from "./commands.ts";
import type { Database } from "./connection.ts";
import { SUMMED_COLUMNS, sumEventRow } from "./checked-rows.ts";
import type { DeliveryRow } from "./move.ts";
import type { AtOnce } from "./query-rows.ts";

/** Deliveries ended in one transaction; the rest follows in the next. */
const MAX_ENDED = 1000;

/** Erases the body of an event, what was sent of it, the answers of its destinations, and the errors. */
export function createBodyErasure(
  db: Database,
  { moves, audit, at, settle }: CommandParts,
): AtOnce<EventLog, "eraseBody"> {
  const select = db.prepare(`
    select id, tenant_id as tenantId, size, erased_at as erasedAt, fan_out_cursor as cursor from events where seq = ?`);
  const countSeen = db.prepare(`
    select count(*) as count from deliveries d join records s on s.seq = d.subscription_seq
    where d.event_seq = ? and d.state in (${STATE.pending}, ${STATE.sending}) and s.tenant_id = ?`);
  const removeBody = db.prepare("delete from bodies where event_seq = ?");
  const emptyEvent = db.prepare("update events set body = null, size = 0, erased_at = ? where seq = ?");
  const selectRest = db.prepare(`select ${SUMMED_COLUMNS} from events e where e.seq = ?`);
  const sumRest = db.prepare("update events set checksum = ? where seq = ?");
  // A delivery that was moved names the other delivery there, which is nothing of the body.
  const emptyErrors = db.prepare(`
    update deliveries set last_error = null
    where event_seq = ? and last_error is not null
      and not (state = ${STATE.cancelled} and last_error like '${MOVED}%')`);
  const emptyRequests = db.prepare("update requests set body = null, checksum = null where event_id = ?");
  const giveBack = db.prepare(`
    update counters set stored_bytes = stored_bytes - ? where tenant_id = ? and subscription_seq = 0`);
  const attempts = createAttemptsOfEvents(db);
  const securely = createSecureDelete(db);

  selectRest.setReturnArrays(true);
  function sumAgain(eventSeq: number): void {
    sumRest.run(sumEventRow(selectRest.get(eventSeq)), eventSeq);
  }

  function endOpen(rows: readonly DeliveryRow[]): readonly number[] {
    const ended = rows.slice(0, MAX_ENDED);
    for (const row of ended) moves.end(row, "dead", { deadReason: "erased" });
    return ended.map(({ subscriptionSeq }) => subscriptionSeq);
  }

  return {
    eraseBody(eventSeq, isForced, note) {
      const event = select.get(eventSeq);
      if (event === undefined) return refuse("not_found", "There is no such event.");
      const open = moves.findOpen(eventSeq, MAX_ENDED + 1);
      if (event.cursor !== null || (open.length > 0 && !isForced)) {
        // A tenant must not learn of deliveries that it does not see; operators learn of these when no others are open.
        const count: number = countSeen.get(eventSeq, event.tenantId).count || open.length;
        const are = count === 1 ? "1 delivery of this event is" : `${count} deliveries of this event are`;
        const message = `${are} still open. Wait until they have ended, or erase it with force: then they become dead letters.`;
        return refuse("conflict", message, { details: { open: count } });
      }
      const ended = endOpen(open);
      if (ended.length < open.length) return { ended, isEnd: false };
      if (event.erasedAt !== null) return { ended, isEnd: true };
      securely(() => {
        removeBody.run(eventSeq);
        emptyEvent.run(at.wall, eventSeq);
        sumAgain(eventSeq);
        emptyRequests.run(event.id);
        attempts.eraseAnswers(eventSeq, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
        attempts.eraseRequests(eventSeq);
        emptyErrors.run(eventSeq);
      });
      settle.forgetForms();
      giveBack.run(event.size, event.tenantId);
      if (note !== undefined) audit.append([note], at.wall);
      return { ended, isEnd: true };
    },
  };
}

const MODES = ["off", "on", "fast"];

/** Overwrites what `work` deletes; otherwise its bytes would stay in the file until the space is reused. */
export function createSecureDelete(db: Database): <Result>(work: () => Result) => Result {
  const { secure_delete: usual } = db.prepare("pragma secure_delete").get() as { secure_delete: number };
  return (work) => {
    db.exec("pragma secure_delete = on");
    try {
      return work();
    } finally {
      db.exec(`pragma secure_delete = ${MODES[usual] ?? "off"}`);
    }
  };
}
