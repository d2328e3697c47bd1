import type { NewDelivery } from "../store.ts";
import type { Accept } from "./accept.ts";
import type { ActsOfStore } from "./acts.ts";
import { createAttemptStatsWrites } from "./attempt-stats.ts";
import { createConfigurationWrites } from "./configuration.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import { createHeldActs } from "./held.ts";
import { createIdempotencyKeyWrites } from "./idempotency-keys.ts";
import { createJobWrites } from "./jobs.ts";
import type { Moves } from "./move.ts";
import { createRecordWrites } from "./records.ts";
import type { Recover } from "./recover.ts";
import { createRequestNotes } from "./request-ring.ts";
import { createReplayWrites } from "./replays.ts";
import type { Retention } from "./retention.ts";

/**
 * The writes that are not on the way of every event: called by name, each in the same transactions as the rest. Those
 * about what users configure say no by throwing, some after they have begun to write: they are undone alone.
 */
export function createCommands(
  db: Database,
  parts: {
    accept: Accept;
    acts: ActsOfStore;
    recover: Recover;
    counters: CounterDeltas;
    moves: Moves;
    retention: Retention;
  },
) {
  const { accept, acts, recover, counters, moves } = parts;
  const replays = createReplayWrites(db, { moves, accept });
  const throwing = {
    ...createConfigurationWrites(db),
  };
  const commands = {
    ...throwing,
    ...createRequestNotes(db),
    ...createRecordWrites(db, { accept, replays, onTenantDeleted: counters.forgetTenant }),
    ...createJobWrites(db),
    ...createAttemptStatsWrites(db),
    ...createIdempotencyKeyWrites(db),
    ...replays,
    retryDelivery: acts.retryDelivery,
    cancelDelivery: acts.cancelDelivery,
    replay: acts.replay,
    release: acts.release,
    cancelLane: acts.cancelLane,
    makeRetriesDue: acts.makeRetriesDue,
    skipDeadHeads: acts.skipDeadHeads,
    expire: acts.expire,
    loadLanes: recover.loadLanes,
    recover: recover.recover,
    ...createHeldActs(db, parts.moves),
    ...parts.retention,
    fanOut: (eventSeq: number, deliveries: readonly NewDelivery[], cursor: number | undefined, wall: number) =>
      accept.fanOut(eventSeq, deliveries, cursor, wall),
  };
  return { commands, mayThrow: new Set(Object.keys(throwing)) };
}

export type Commands = ReturnType<typeof createCommands>["commands"];
