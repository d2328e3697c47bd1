import { DatabaseSync } from "@photostructure/sqlite";

export interface SmartsheetFigures {
  /** Changes that Smartsheet told of, and callbacks that it sent for them. */
  changes: number;
  callbacks: number;
  /** Changes that the core app has taken. */
  taken: number;
  /** How many lines the event log has of each status. */
  eventLog: Readonly<Record<string, number>>;
  deadLetters: number;
}

export interface LoggedEvent {
  event_id: string;
  event_type: string;
  status: string;
}

/** What operators ask of the database while the gateway runs. */
export function query(database: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

export const readEventLog = (database: string) =>
  query(
    database,
    "select event_id, event_type, status from event_log where source = 'smartsheet'",
  ) as unknown as LoggedEvent[];

export function countByStatus(log: readonly LoggedEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of log) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

export const describeCounts = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(", ");
