import { Type } from "typebox";
import { poisonQueueOf } from "../queues/azure-storage-queue/storage-connection.ts";
import { pullOptions } from "./pull-options.ts";
import type { BrokerKindSpec } from "./broker-kind.ts";

const MAX_DELIVERIES = 5;
const HOLD_MS = 30_000;

/** A queue of Azure Storage. Parked messages go to `NAME-poison`. */
export const AZURE_STORAGE_QUEUE: BrokerKindSpec = {
  name: "azure-storage-queue",
  options: pullOptions({
    queue: Type.String({
      pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$",
      description: "The queue that messages are received from: 3 to 63 small letters, digits and single dashes",
    }),
    max_deliveries: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        default: MAX_DELIVERIES,
        description: "A message that was received more often than this but never reached the disk is parked",
      }),
    ),
  }),
  pull: {
    limits: { holdMs: HOLD_MS, canRenew: true, canDelayRetry: true },
    defaults: { maxDeliveries: MAX_DELIVERIES },
  },
  describeTaker: ({ queue }) => ({
    parkTo: { destination: poisonQueueOf(String(queue)), subject: "" },
    sessions: false,
    holdMs: HOLD_MS,
  }),
};
