import { MAX_RECOVERIES } from "../../model/delivery.ts";
import { UNSENT } from "../../model/outcome.ts";
import type { DeliveryKey, Recovered, SentMark } from "../port/lanes.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Database } from "./connection.ts";
import { toDeadDeliveries, type DyingRow } from "./dead-deliveries.ts";
import type { DeliveryRow, Moves } from "./move.ts";
import { createSendingList } from "./sending-rows.ts";
import type { Settle } from "./settle.ts";
import { readEach, type UnreadableRows } from "./unreadable-rows.ts";

const STOPPED = "gateway stopped";

export interface Recover {
  recover(sent: readonly SentMark[], wasStopped?: boolean): Recovered;
  /** Returns unsent deliveries to their lanes. */
  release(deliveries: readonly (DeliveryKey & { generation: number })[]): void;
  load(): { subscriptionSeq: number; nextDueAt: number }[];
}

export function createRecover(
  db: Database,
  moves: Moves,
  unreadable: UnreadableRows,
  settle: Settle,
  nextDueAt: (subscriptionSeq: number) => number | undefined,
  at: Readonly<BatchTime>,
): Recover {
  const selectSubscriptions = db.prepare("select seq from records where kind = 'subscription'");
  const listSending = createSendingList(db, unreadable);
  const selectEvent = db.prepare("select id, type from events where seq = ?");

  function loadSending(): DeliveryRow[] {
    return readEach(listSending(), ({ event_seq, subscription_seq }) =>
      unreadable.hasDelivery(event_seq, subscription_seq) ? undefined : moves.find(event_seq, subscription_seq),
    );
  }

  return {
    release(deliveries) {
      for (const d of deliveries) moves.release(d.eventSeq, d.subscriptionSeq, d.generation);
    },
    recover(sent, wasStopped = false) {
      const { now, wall } = at;
      const counts: Recovered = { released: 0, interrupted: 0, poisoned: 0 };
      const poisoned: DyingRow[] = [];
      // A freed slot keeps its last mark, so a delivery may have several marks: of this attempt and of earlier ones.
      const marks = new Set(sent.map(attemptName));
      for (const row of loadSending()) {
        const { event_seq, subscription_seq } = row;
        const next = row.attempt_count + 1;
        const attempt = { eventSeq: event_seq, subscriptionSeq: subscription_seq, attemptNumber: next };
        if (!marks.has(attemptName({ ...attempt, generation: row.generation }))) {
          moves.release(event_seq, subscription_seq, row.generation);
          counts.released++;
          continue;
        }
        const number = settle.recordAttempt(event_seq, subscription_seq, next, stoppedAttempt(wall));
        const recoveries = wasStopped ? 0 : row.recoveries + 1;
        if (recoveries >= MAX_RECOVERIES) {
          const error = `the gateway stopped ${MAX_RECOVERIES} times in a row while sending this delivery`;
          moves.end(row, "dead", {
            endedAt: wall,
            attemptCount: number,
            deadReason: "poison",
            error,
            leavesKeyQueue: false,
          });
          counts.poisoned++;
          const event = selectEvent.get(event_seq) as { id: string; type: string };
          poisoned.push({ event_seq, subscription_seq, attempt_count: number, id: event.id, type: event.type });
        } else {
          moves.makeDue(row, now, "retry", {
            act: "recover",
            generation: row.generation,
            attemptCount: number,
            uncountedAttempts: row.uncounted_attempts + number - row.attempt_count,
            recoveries,
            error: STOPPED,
          });
          counts.interrupted++;
        }
      }
      counts.dead = toDeadDeliveries(poisoned, "poison");
      return counts;
    },
    load() {
      const lanes = [];
      for (const { seq: subscriptionSeq } of selectSubscriptions.all() as unknown as { seq: number }[]) {
        const dueAt = nextDueAt(subscriptionSeq);
        if (dueAt !== undefined) lanes.push({ subscriptionSeq, nextDueAt: dueAt });
      }
      return lanes;
    },
  };
}

function attemptName({ eventSeq, subscriptionSeq, generation, attemptNumber }: SentMark): string {
  return `${eventSeq} ${subscriptionSeq} ${generation} ${attemptNumber}`;
}

function stoppedAttempt(wall: number) {
  return {
    startedAt: wall,
    durationMs: 0,
    result: "error" as const,
    trigger: "retry" as const,
    error: STOPPED,
    record: { ...UNSENT, place: undefined, sent: undefined },
  };
}
