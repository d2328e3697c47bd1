/** Which of Smartsheet's webhooks are ours, and what they sign with. */
export interface SmartsheetBook {
  loadSmartsheetWebhooks(): Promise<readonly SmartsheetWebhookRow[]>;
  /** Makes it or changes it; `createdAt` counts only for one that is made. */
  saveSmartsheetWebhook(row: SmartsheetWebhookRow): Promise<void>;
  /** Nothing happens when it is not there. */
  deleteSmartsheetWebhook(source: string, webhookId: string): Promise<void>;
}

export interface SmartsheetWebhookRow {
  source: string;
  webhookId: string;
  sheetId: string;
  /** Sealed. */
  secrets: Uint8Array;
  /** As Smartsheet names it. */
  status: string;
  createdAt: number;
  updatedAt: number;
}
