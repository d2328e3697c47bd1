import { presentOwnRecord } from "../own-record.ts";
import type { DestinationKind } from "../sender.ts";
import { BATCH_SECRETS } from "./secrets.ts";
import { openBatchSender } from "./sender.ts";
import { checkBatchSettings } from "./settings-rules.ts";
import { BatchSettings, OF_FILES, prepareBatch, presentBatch } from "./settings.ts";

/** Analytics: events are collected and sent as rows of JSON to a URL, to ClickHouse or to files. */
export const BATCH: DestinationKind<BatchSettings> = {
  name: "batch",
  settings: BatchSettings,
  operatorSettings: OF_FILES,
  check: checkBatchSettings,
  prepare: prepareBatch,
  secrets: BATCH_SECRETS,
  present: presentBatch,
  presentRecord: presentOwnRecord,
  open: openBatchSender,
};
