import { createAuditReads } from "./audit.ts";
import { createAttemptStatsReads, createJobReads } from "./jobs.ts";
import type { Database } from "./connection.ts";
import { createCounterReads, createTenantReads } from "./counters.ts";
import { createDeliveryReads, createLaneReads } from "./delivery-reads.ts";
import { createEventReads, createFanOutReads } from "./event-reads.ts";
import { createLogReads } from "./log-reads.ts";
import { createPrepare } from "./query-rows.ts";
import { createRecordReads } from "./records.ts";
import { createReplayReads, createWalks } from "./replays.ts";
import { createRequestReads } from "./requests.ts";
import { createMessageReads } from "./taken-messages.ts";
import { createErasureReads } from "./tenant-erasure.ts";

/** All reads, by port and method, on a connection of their own. */
export function createQueries(db: Database) {
  const prepare = createPrepare(db);
  const { findSoundBody, ...events } = createEventReads(prepare);
  return {
    events: createFanOutReads(prepare),
    records: createRecordReads(db, prepare),
    reads: {
      ...events,
      ...createMessageReads(prepare),
      ...createDeliveryReads(prepare),
      ...createLaneReads(prepare),
      ...createWalks(prepare),
      ...createRequestReads(prepare, events.findEvent),
      ...createCounterReads(prepare),
      ...createTenantReads(prepare),
      ...createAttemptStatsReads(db),
      ...createLogReads(db, prepare, findSoundBody),
    },
    jobs: {
      ...createJobReads(db),
      ...createReplayReads(prepare),
      ...createErasureReads(prepare),
    },
    audit: createAuditReads(db, prepare),
  };
}

export type Queries = ReturnType<typeof createQueries>;

/** Calls a query by port and method name. */
export function runQuery(queries: Queries, port: string, name: string, args: readonly unknown[]): unknown {
  const methods = queries[port as keyof Queries] as Record<string, (...args: readonly unknown[]) => unknown>;
  return methods[name]?.(...args);
}
