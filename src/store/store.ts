import type { Clock } from "../model/clock.ts";
import type { Audit } from "./port/audit.ts";
import type { EventLog } from "./port/event-log.ts";
import type { Jobs } from "./port/jobs.ts";
import type { Lanes } from "./port/lanes.ts";
import type { Page, PageOf, Reads } from "./port/reads.ts";
import type { Records } from "./port/records.ts";

/**
 * The store is the event log and all state: the only source of truth, and the only scheduler. Every write joins the
 * next group commit, and is durable when its result is reported. A rejection is a value and changes nothing; an
 * exception is a fault. Neither affects other writes in the same commit.
 */
export interface Store {
  readonly info: StoreInfo;
  /** The limits of one transaction. */
  readonly limits: { readonly maxRows: number; readonly maxBytes: number };
  /** A clock shared by all users of the store. Its `now()` never goes back, not even across restarts. */
  readonly clock: Clock;

  readonly events: EventLog;
  readonly lanes: Lanes;
  readonly records: Records;
  readonly reads: Reads;
  readonly jobs: Jobs;
  readonly audit: Audit;

  /** Rejects new writes, waits for running ones, checkpoints and closes. */
  close(): Promise<void>;
}

export interface StoreInfo {
  /** Created with the store and never changed: identifies in messages the store that they come from. */
  id: string;
  driver: string;
  version: string;
  syncMode: string;
}

const ROWS_AT_ONCE = 1000;

/** Reads all rows of a list, page by page. */
export async function readAll<Row>(list: (page: Page) => Promise<PageOf<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ limit: ROWS_AT_ONCE, cursor });
    rows.push(...page.rows);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return rows;
}
