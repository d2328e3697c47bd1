import type { QueueKinds } from "../model/forward-rules.ts";
import { DEFAULT_KIND, type SubscriptionInput } from "../model/subscription.ts";
import { BATCH } from "./batch/kind.ts";
import { EMAIL } from "./email/kind.ts";
import { HTTP } from "./http/kind.ts";
import { AMQP } from "./queue/amqp.ts";
import { AZURE_SERVICE_BUS } from "./queue/azure-service-bus.ts";
import { AZURE_STORAGE_QUEUE } from "./queue/azure-storage-queue.ts";
import { SMS } from "./sms/kind.ts";
import type { DestinationKind } from "./sender.ts";

/** All kinds of destinations. To add one, add a line here. */
export const KINDS: readonly DestinationKind[] = [
  HTTP,
  EMAIL,
  SMS,
  BATCH,
  AMQP,
  AZURE_SERVICE_BUS,
  AZURE_STORAGE_QUEUE,
];

export interface DestinationKinds {
  find(name: string): DestinationKind | undefined;
  /** The kind that an input names. */
  findOf(input: Pick<SubscriptionInput, "kind">): DestinationKind | undefined;
  list(): readonly DestinationKind[];
}

export function createDestinationKinds(more: readonly DestinationKind[] = []): DestinationKinds {
  const byName = new Map([...KINDS, ...more].map((kind) => [kind.name, kind]));
  return {
    find: (name) => byName.get(name),
    findOf: ({ kind = DEFAULT_KIND }) => byName.get(kind),
    list: () => [...byName.values()],
  };
}

export function toQueueKinds(kinds: DestinationKinds): QueueKinds {
  return {
    isQueue: (kind) => kinds.find(kind)?.isQueue === true,
    isCountable: ({ kind, destination }) => kinds.find(kind)?.isCountable?.(destination ?? {}) !== false,
    maxBytesOf: ({ kind, destination }) => kinds.find(kind)?.maxBytesOf?.(destination ?? {}),
  };
}
