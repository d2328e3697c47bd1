import { Type, type Static } from "typebox";
import { describeQueue } from "../../../domain/queue-place.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";
import type { DestinationKind } from "../sender.ts";
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

const BusSettings = queueSettings({
  queue: Type.String({
    pattern: "^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$",
    description: "The queue, or the topic, that messages are put into",
  }),
  claim_check: CLAIM_CHECK,
});
type BusSettings = Static<typeof BusSettings>;

interface BusDestination extends QueueDestination {
  readonly queue: string;
}

const SENDING: QueueKind<BusDestination> = {
  kind: "azure-service-bus",
  // All over one link, each confirmed by itself.
  batch: { maxBatch: 32, lingerMs: 0 },
  address: ({ queue }, { event }) => ({ publisher: queue, subject: event.type }),
  isTopic: () => false,
  queueOf: ({ queue }) => queue,
};

/** Azure Service Bus: a queue or a topic. */
export const AZURE_SERVICE_BUS: DestinationKind<BusSettings> = {
  name: "azure-service-bus",
  settings: BusSettings,
  isForOperators: true,
  isQueue: true,
  check: checkQueueSettings,
  prepare(settings) {
    const { queue, connection = DEFAULT_CONNECTION } = settings;
    const place = describeQueue("azure-service-bus", connection, queue);
    const destination: BusDestination = { ...toQueueDestination(settings, place), queue };
    return prepareQueue(destination);
  },
  secrets: secretSettings<BusSettings>(["message_key"], ["connection", "queue"]),
  present: (settings) => ({
    ...presentQueue(settings),
    queue: settings.queue,
    ...presentClaimCheck(settings.claim_check),
  }),
  presentRecord: presentOwnRecord,
  open: (services) => openQueueSender(SENDING, services),
};
