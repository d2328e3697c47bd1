import { Type } from "typebox";
import { createAzureQueueKind } from "./azure-queue.ts";

/** Azure Service Bus: a queue or a topic. */
export const AZURE_SERVICE_BUS = createAzureQueueKind({
  name: "azure-service-bus",
  queue: Type.String({
    pattern: "^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$",
    description: "The queue, or the topic, that messages are put into",
  }),
  // All over one link, each confirmed by itself.
  batch: { maxBatch: 32, lingerMs: 0 },
  subjectOf: ({ type }) => type,
});
