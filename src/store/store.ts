import type { Clock } from "../domain/clock.ts";
import type { Audit } from "./port/audit.ts";
import type { EventLog } from "./port/event-log.ts";
import type { Jobs } from "./port/jobs.ts";
import type { Lanes } from "./port/lanes.ts";
import type { Reads } from "./port/reads.ts";
import type { Records } from "./port/records.ts";

/**
 * The store is the event log and all state: the truth, and the only scheduler. Every call that writes joins the next
 * group commit; what it reports is durable when it reports it. A refusal is a value, and changes nothing; an exception
 * is a fault. Neither harms those who share the commit.
 */
export interface Store {
  readonly info: StoreInfo;
  /** As data: what one transaction may hold. */
  readonly limits: { readonly maxRows: number; readonly maxBytes: number };
  /** Time that all who share the store agree on. Its `now()` never goes back, not even over a restart. */
  readonly clock: Clock;

  readonly events: EventLog;
  readonly lanes: Lanes;
  readonly records: Records;
  readonly reads: Reads;
  readonly jobs: Jobs;
  readonly audit: Audit;

  /** Rejects further writes, waits for those under way, checkpoints, closes. */
  close(): Promise<void>;
}

export interface StoreInfo {
  /** Made with the store and the same for ever: what its messages say where they come from. */
  id: string;
  driver: string;
  version: string;
  syncMode: string;
}
