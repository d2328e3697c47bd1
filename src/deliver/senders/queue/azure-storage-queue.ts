import { Type, type Static } from "typebox";
import { describeQueue } from "../../../domain/queue-place.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";
import { ONE_BY_ONE, type DestinationKind } from "../sender.ts";
import { openQueueSender, type QueueKind } from "./queue-sender.ts";
import {
  CLAIM_CHECK,
  checkQueueSettings,
  DEFAULT_CONNECTION,
  prepareQueue,
  presentClaimCheck,
  presentQueue,
  queueSettings,
  toQueueDestination,
  type QueueDestination,
} from "./settings.ts";

const StorageSettings = queueSettings({
  queue: Type.String({
    pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$",
    description: "The queue that messages are put into",
  }),
  claim_check: CLAIM_CHECK,
});
type StorageSettings = Static<typeof StorageSettings>;

interface StorageDestination extends QueueDestination {
  readonly queue: string;
}

const SENDING: QueueKind<StorageDestination> = {
  kind: "azure-storage-queue",
  // The service takes one message with each request.
  batch: ONE_BY_ONE,
  address: ({ queue }) => ({ publisher: queue, subject: undefined }),
  isTopic: () => false,
  queueOf: ({ queue }) => queue,
};

/** Azure Storage Queue. A message there is its body and nothing else. */
export const AZURE_STORAGE_QUEUE: DestinationKind<StorageSettings> = {
  name: "azure-storage-queue",
  settings: StorageSettings,
  isForOperators: true,
  isQueue: true,
  check: checkQueueSettings,
  prepare(settings) {
    const { queue, connection = DEFAULT_CONNECTION } = settings;
    const place = describeQueue("azure-storage-queue", connection, queue);
    const destination: StorageDestination = { ...toQueueDestination(settings, place), queue };
    return prepareQueue(destination);
  },
  secrets: secretSettings<StorageSettings>(["message_key"], ["connection", "queue"]),
  present: (settings) => ({
    ...presentQueue(settings),
    queue: settings.queue,
    ...presentClaimCheck(settings.claim_check),
  }),
  presentRecord: presentOwnRecord,
  open: (services) => openQueueSender(SENDING, services),
};
