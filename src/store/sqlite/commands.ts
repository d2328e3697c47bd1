import type { BatchTime } from "../commit/batch.ts";
import type { NewDelivery } from "../port/event-log.ts";
import type { Lanes } from "../port/lanes.ts";
import { isRefused } from "../../model/errors.ts";
import type { Accept } from "./accept.ts";
import type { AuditLog } from "./audit.ts";
import type { Claim, Expire } from "./claim.ts";
import { createAttemptStatsWrites, createJobWrites, createPrune } from "./jobs.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import { createDeliveryChanges, createLaneChanges } from "./delivery-changes.ts";
import { createBodyErasure } from "./erase-body.ts";
import type { Moves, MoveOver } from "./move.ts";
import type { AtOnce } from "./query-rows.ts";
import { createRecordWrites } from "./records.ts";
import type { Recover } from "./sending.ts";
import { createReplayWrites } from "./replays.ts";
import { createReplayRecords, type RequestRing } from "./requests.ts";
import type { Retention } from "./retention.ts";
import type { Settle } from "./settle.ts";
import { createMessageWrites } from "./taken-messages.ts";
import { createTenantErasure } from "./tenant-erasure.ts";

export interface CommandParts {
  at: Readonly<BatchTime>;
  accept: Accept;
  audit: AuditLog;
  claim: Pick<Claim, "nextDueAt">;
  counters: CounterDeltas;
  expire: Expire;
  moves: Moves;
  moveOver: MoveOver;
  recover: Recover;
  retention: Retention;
  ring: RequestRing;
  settle: Settle;
}

/** The writes that are not needed for every event, by port and method; in the same transactions as all others. */
export function createCommands(db: Database, parts: CommandParts) {
  const { at, accept, audit, counters, expire, moves, recover } = parts;
  const { insertReplay, ...replays } = createReplayWrites(db, parts);
  const change = createDeliveryChanges(db, moves, accept, at);

  const lanes: AtOnce<Lanes, "release" | "recover" | "load" | "expire" | "change" | "changeLane"> = {
    ...recover,
    expire: () => expire.all(at.now),
    change(key, wanted, note) {
      const changed = change(key, wanted);
      if (note !== undefined && !isRefused(changed)) audit.append([note], at.wall);
      return changed;
    },
    changeLane: createLaneChanges(db, parts),
  };

  return {
    events: {
      fanOut: (eventSeq: number, deliveries: readonly NewDelivery[], cursor: number | undefined) =>
        accept.fanOut(eventSeq, deliveries, cursor, at.wall),
      ...createReplayRecords(db, (note) => audit.append([note], at.wall)),
      ...createBodyErasure(db, parts),
      ...createMessageWrites(db, at, (key, delivery) => void change(key, { act: "replay", ...delivery })),
    },
    lanes,
    records: createRecordWrites(db, { at, accept, audit, insertReplay, onTenantDeleted: counters.forgetTenant }),
    jobs: {
      ...createJobWrites(db, at),
      ...replays,
      ...createAttemptStatsWrites(db),
      ...createTenantErasure(db, parts),
      prune: createPrune(db, parts),
    },
    audit: { note: audit.append, begin: audit.begin },
  };
}

export type Commands = ReturnType<typeof createCommands>;
