import { type Static, type TString, Type } from "typebox";
import { DEFAULT_CONNECTION, describeQueue } from "../../model/connection.ts";
import { MAX_MESSAGE_BYTES } from "../../queues/azure-service-bus/bus-queue-settings.ts";
import { MAX_BODY_BYTES } from "../../queues/azure-storage-queue/storage-text.ts";
import type { DestinationKind } from "../destination-kind.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";
import { ONE_BY_ONE } from "../sender.ts";
import {
  CLAIM_CHECK,
  checkQueueSettings,
  prepareQueue,
  presentClaimCheck,
  presentQueue,
  queueSettings,
  toQueueDestination,
  type QueueDestination,
  type QueueSending,
} from "./settings.ts";

const azureSettings = (queue: TString) => queueSettings({ queue, claim_check: CLAIM_CHECK });
type AzureSettings = Static<ReturnType<typeof azureSettings>>;

interface AzureDestination extends QueueDestination {
  readonly queue: string;
}

/** `queue`: the schema of a queue's name. */
function createAzureQueueKind(
  name: "azure-service-bus" | "azure-storage-queue",
  queue: TString,
  maxMessageBytes: number,
): DestinationKind<AzureSettings> {
  return {
    name,
    settings: azureSettings(queue),
    operatorOnly: true,
    queue: {
      isCountable: () => true,
      maxBytesOf: (settings) => ((settings as AzureSettings).claim_check ? undefined : maxMessageBytes),
    },
    check: checkQueueSettings,
    prepare(settings) {
      const { queue, connection = DEFAULT_CONNECTION } = settings;
      const place = describeQueue(name, connection, queue);
      const destination: AzureDestination = { ...toQueueDestination(settings, place), queue };
      return prepareQueue(destination);
    },
    secrets: secretSettings<AzureSettings>(["message_key"], ["connection", "queue"]),
    present: (settings) => ({
      ...presentQueue(settings),
      queue: settings.queue,
      ...presentClaimCheck(settings.claim_check),
    }),
    presentRecord: presentOwnRecord,
  };
}

/** Azure Service Bus: a queue or a topic. */
export const AZURE_SERVICE_BUS = createAzureQueueKind(
  "azure-service-bus",
  Type.String({
    pattern: "^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$",
    description: "The queue or topic that messages are sent to",
  }),
  MAX_MESSAGE_BYTES,
);

export const AZURE_SERVICE_BUS_SENDING: QueueSending<AzureDestination> = {
  kind: "azure-service-bus",
  // All messages go over one link, and each is confirmed on its own.
  batch: { maxBatch: 32, lingerMs: 0 },
  address: ({ queue }, { event }) => ({ publisher: queue, subject: event.type }),
  isTopic: () => false,
  queueOf: ({ queue }) => queue,
};

/** Azure Storage Queue. A message there has a body and nothing else. */
export const AZURE_STORAGE_QUEUE = createAzureQueueKind(
  "azure-storage-queue",
  Type.String({
    pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$",
    description: "The queue that messages are sent to",
  }),
  MAX_BODY_BYTES,
);

export const AZURE_STORAGE_QUEUE_SENDING: QueueSending<AzureDestination> = {
  ...AZURE_SERVICE_BUS_SENDING,
  kind: "azure-storage-queue",
  // The service accepts one message per request.
  batch: ONE_BY_ONE,
  address: ({ queue }) => ({ publisher: queue, subject: undefined }),
};
