import { type Static, type TString } from "typebox";
import type { EventContent } from "../../model/event.ts";
import { describeQueue } from "../../model/connection.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";
import type { BatchLimits, DestinationKind } from "../sender.ts";
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

/** The differences between the two Azure brokers. */
export interface AzureQueueSpec {
  name: "azure-service-bus" | "azure-storage-queue";
  /** The schema of a queue's name. */
  queue: TString;
  maxMessageBytes: number;
  batch: BatchLimits;
  subjectOf(event: EventContent): string | undefined;
}

const azureSettings = (queue: TString) => queueSettings({ queue, claim_check: CLAIM_CHECK });
type AzureSettings = Static<ReturnType<typeof azureSettings>>;

interface AzureDestination extends QueueDestination {
  readonly queue: string;
}

/** Creates a kind of destination for an Azure broker. */
export function createAzureQueueKind(spec: AzureQueueSpec): DestinationKind<AzureSettings> {
  const { name } = spec;
  const sending: QueueKind<AzureDestination> = {
    kind: name,
    batch: spec.batch,
    address: ({ queue }, { event }) => ({ publisher: queue, subject: spec.subjectOf(event) }),
    isTopic: () => false,
    queueOf: ({ queue }) => queue,
  };
  return {
    name,
    settings: azureSettings(spec.queue),
    isForOperators: true,
    isQueue: true,
    maxBytesOf: (settings) => ((settings as AzureSettings).claim_check ? undefined : spec.maxMessageBytes),
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
    open: (services) => openQueueSender(sending, services),
  };
}
