import { Type } from "typebox";
import { MAX_BODY_BYTES } from "../../queues/azure-storage-queue/storage-text.ts";
import { ONE_BY_ONE } from "../sender.ts";
import { createAzureQueueKind } from "./azure-queue.ts";

/** Azure Storage Queue. A message there has a body and nothing else. */
export const AZURE_STORAGE_QUEUE = createAzureQueueKind({
  name: "azure-storage-queue",
  queue: Type.String({
    pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$",
    description: "The queue that messages are sent to",
  }),
  maxMessageBytes: MAX_BODY_BYTES,
  // The service accepts one message per request.
  batch: ONE_BY_ONE,
  subjectOf: () => undefined,
});
