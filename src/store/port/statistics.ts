/** What attempts came to over time. Written late and in few rows, so it may lack what a crash cut off. */
export interface AttemptStatistics {
  /** Adds each to its minute and to its hour. */
  addAttemptStats(deltas: readonly AttemptStats[]): Promise<void>;
  /** In no particular order; spans without attempts are left out. */
  loadAttemptStats(query: AttemptStatsQuery): Promise<readonly AttemptStats[]>;
  /** Removes spans that begin before then, at most one transaction's worth; resolves to how many. */
  pruneAttemptStats(before: { minute: number; hour: number }): Promise<number>;
}

export interface AttemptStats {
  /** Unix minutes: when the span begins. */
  minute: number;
  /** 0 for the whole gateway. */
  subscriptionSeq: number;
  attempts: number;
  failures: number;
  /** A packed histogram. */
  latencies: Uint8Array;
}

export interface AttemptStatsQuery {
  span: "minute" | "hour";
  subscriptionSeqs: readonly number[];
  /** The first and the last span, in unix minutes; for hours whole ones. */
  since: number;
  until: number;
}
