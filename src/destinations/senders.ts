import { openBatchSender } from "./batch/sender.ts";
import type { DestinationKind } from "./destination-kind.ts";
import { openEmailSender } from "./email/sender.ts";
import { openHttpSender } from "./http/sender.ts";
import { AMQP_SENDING } from "./queue/amqp.ts";
import { AZURE_SERVICE_BUS_SENDING, AZURE_STORAGE_QUEUE_SENDING } from "./queue/azure.ts";
import { openQueueSender } from "./queue/sender.ts";
import { openSmsSender } from "./sms/sender.ts";
import type { OpenSender, SenderServices } from "./sender.ts";

/** The senders of all kinds, by the names in `kinds.ts`. To add one, add a line here. */
export const SENDERS = {
  http: openHttpSender,
  email: openEmailSender,
  sms: openSmsSender,
  batch: openBatchSender,
  amqp: (services: SenderServices) => openQueueSender(AMQP_SENDING, services),
  "azure-service-bus": (services: SenderServices) => openQueueSender(AZURE_SERVICE_BUS_SENDING, services),
  "azure-storage-queue": (services: SenderServices) => openQueueSender(AZURE_STORAGE_QUEUE_SENDING, services),
};

/** A kind beyond the built-in ones, which brings its sender. */
export type KindWithSender<Settings extends object = object> = DestinationKind<Settings> & {
  open: OpenSender<Settings>;
};

export type Senders = ReturnType<typeof openSenders>;

export function openSenders(services: SenderServices, more: readonly KindWithSender[] = []) {
  const makers = new Map<string, OpenSender>(Object.entries(SENDERS));
  for (const { name, open } of more) makers.set(name, open);
  const senders = new Map([...makers].map(([name, open]) => [name, open(services)]));
  return {
    find: (kind: string) => senders.get(kind),
    /** Whether a kind is reserved for the operator, always or by the configuration. */
    isForOperators: ({ name, operatorOnly }: DestinationKind): boolean =>
      operatorOnly === true || senders.get(name)?.rules?.isForOperators === true,
    async close(): Promise<void> {
      await Promise.all([...senders.values()].map((sender) => sender.close()));
    },
  };
}
