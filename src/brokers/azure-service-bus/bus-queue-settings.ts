import type { QueueProperties, ServiceBusAdministrationClient } from "@azure/service-bus";
import { BrokerFault } from "../broker-fault.ts";

/** What is wanted of a queue of Azure Service Bus, made and compared. */
export interface BusQueueWish {
  queue: string;
  /** Order holds within a session. Like the detection of duplicates it can only be chosen when the queue is made. */
  sessions: boolean;
}

const DUPLICATE_WINDOW = "PT10M";
const MAX_DELIVERY_COUNT = 10;

export async function declareBusQueue(
  administration: ServiceBusAdministrationClient,
  wish: BusQueueWish,
): Promise<void> {
  try {
    await administration.createQueue(wish.queue, {
      requiresDuplicateDetection: true,
      duplicateDetectionHistoryTimeWindow: DUPLICATE_WINDOW,
      maxDeliveryCount: MAX_DELIVERY_COUNT,
      requiresSession: wish.sessions,
    });
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== 409) throw error;
    const differences = await checkBusQueue(administration, wish);
    if (differences.length > 0) throw new BrokerFault("different", `${differences.join(". ")}.`);
  }
}

export async function checkBusQueue(
  administration: ServiceBusAdministrationClient,
  { queue, sessions }: BusQueueWish,
): Promise<string[]> {
  const found = await findQueue(administration, queue);
  if (found === undefined) return [`queue ${queue} is missing`];
  const { requiresDuplicateDetection, duplicateDetectionHistoryTimeWindow, maxDeliveryCount, requiresSession } = found;
  const anew = "; delete the queue and declare it anew";
  const differences: string[] = [];
  if (!requiresDuplicateDetection) differences.push(`queue ${queue} detects no duplicates${anew}`);
  else if (toSeconds(duplicateDetectionHistoryTimeWindow) !== toSeconds(DUPLICATE_WINDOW)) {
    differences.push(
      `queue ${queue} detects duplicates for ${duplicateDetectionHistoryTimeWindow}, wanted is ${DUPLICATE_WINDOW}`,
    );
  }
  if (maxDeliveryCount !== MAX_DELIVERY_COUNT) {
    differences.push(`queue ${queue} has a max delivery count of ${maxDeliveryCount}, wanted is ${MAX_DELIVERY_COUNT}`);
  }
  if (requiresSession !== sessions) {
    differences.push(
      `queue ${queue} has ${requiresSession ? "sessions" : "no sessions"}, wanted is the other${anew}, or ` +
        `configure \`sessions: ${!sessions}\``,
    );
  }
  return differences;
}

async function findQueue(
  administration: ServiceBusAdministrationClient,
  queue: string,
): Promise<QueueProperties | undefined> {
  try {
    return await administration.getQueue(queue);
  } catch (error) {
    if ((error as { code?: string }).code === "MessageEntityNotFoundError") return undefined;
    throw error;
  }
}

/** Of an ISO 8601 duration, which may be written in several ways. */
function toSeconds(duration: string): number {
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(duration) ?? [];
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}
