import { Type } from "typebox";
import { MAX_MESSAGE_BYTES } from "../../queues/azure-service-bus/bus-queue-settings.ts";
import { createAzureQueueKind } from "./azure-queue.ts";

/** Azure Service Bus: a queue or a topic. */
export const AZURE_SERVICE_BUS = createAzureQueueKind({
  name: "azure-service-bus",
  queue: Type.String({
    pattern: "^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$",
    description: "The queue or topic that messages are sent to",
  }),
  maxMessageBytes: MAX_MESSAGE_BYTES,
  // All messages go over one link, and each is confirmed on its own.
  batch: { maxBatch: 32, lingerMs: 0 },
  subjectOf: ({ type }) => type,
});
