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

/** The view that operators read in the database. */
export function readEventLog(database: string): LoggedEvent[] {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    const rows = db.prepare("select event_id, event_type, status from event_log where source = 'smartsheet'").all();
    return rows as unknown as LoggedEvent[];
  } finally {
    db.close();
  }
}

export function countByStatus(log: readonly LoggedEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of log) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

export const describeCounts = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(", ");
