import type { SmartsheetWebhookRow } from "../port/smartsheet.ts";
import type { Database } from "./connection.ts";

export function createSmartsheetWrites(db: Database) {
  const save = db.prepare(`
    insert into smartsheet_webhooks (source, webhook_id, sheet_id, secrets, status, created_at, updated_at)
    values (?, ?, ?, ?, ?, ?, ?)
    on conflict do update set sheet_id = excluded.sheet_id, secrets = excluded.secrets, status = excluded.status,
      updated_at = excluded.updated_at`);
  const remove = db.prepare("delete from smartsheet_webhooks where source = ? and webhook_id = ?");
  return {
    saveSmartsheetWebhook(row: SmartsheetWebhookRow): void {
      const { source, webhookId, sheetId, secrets, status, createdAt, updatedAt } = row;
      save.run(source, webhookId, sheetId, secrets, status, createdAt, updatedAt);
    },

    deleteSmartsheetWebhook(source: string, webhookId: string): void {
      remove.run(source, webhookId);
    },
  };
}

export function createSmartsheetReads(db: Database) {
  return {
    loadSmartsheetWebhooks(): SmartsheetWebhookRow[] {
      return db
        .prepare(
          `select source, webhook_id as webhookId, sheet_id as sheetId, secrets, status, created_at as createdAt,
            updated_at as updatedAt
          from smartsheet_webhooks order by source, created_at, webhook_id`,
        )
        .all();
    },
  };
}
