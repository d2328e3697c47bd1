import type { QueueProperties, ServiceBusAdministrationClient } from "@azure/service-bus";
import { BrokerFault } from "../broker-fault.ts";

/** The wanted settings of an Azure Service Bus queue: how it is created and compared. */
export interface BusQueueNeeded {
  queue: string;
  /** Order is kept within a session. Like duplicate detection, this can be chosen only when the queue is created. */
  sessions: boolean;
}

/** The limit of the Standard tier, with room for what AMQP adds. */
export const MAX_MESSAGE_BYTES = 256 * 1024 - 8 * 1024;

const DUPLICATE_WINDOW = "PT10M";
const MAX_DELIVERY_COUNT = 10;

export async function declareBusQueue(
  administration: ServiceBusAdministrationClient,
  needed: BusQueueNeeded,
): Promise<void> {
  try {
    await administration.createQueue(needed.queue, {
      requiresDuplicateDetection: true,
      duplicateDetectionHistoryTimeWindow: DUPLICATE_WINDOW,
      maxDeliveryCount: MAX_DELIVERY_COUNT,
      requiresSession: needed.sessions,
    });
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== 409) throw error;
    const differences = await checkBusQueue(administration, needed);
    if (differences.length > 0) throw new BrokerFault("different", `${differences.join(". ")}.`);
  }
}

export async function checkBusQueue(
  administration: ServiceBusAdministrationClient,
  { queue, sessions }: BusQueueNeeded,
): Promise<string[]> {
  const found = await findQueue(administration, queue);
  if (found === undefined) return [`queue ${queue} is missing`];
  const { requiresDuplicateDetection, duplicateDetectionHistoryTimeWindow, maxDeliveryCount, requiresSession } = found;
  const anew = "; delete the queue and declare it again";
  const differences: string[] = [];
  if (!requiresDuplicateDetection) differences.push(`queue ${queue} does not detect duplicates${anew}`);
  else if (toSeconds(duplicateDetectionHistoryTimeWindow) !== toSeconds(DUPLICATE_WINDOW)) {
    differences.push(
      `queue ${queue} detects duplicates for ${duplicateDetectionHistoryTimeWindow} instead of ${DUPLICATE_WINDOW}`,
    );
  }
  if (maxDeliveryCount !== MAX_DELIVERY_COUNT) {
    differences.push(`queue ${queue} has a max delivery count of ${maxDeliveryCount} instead of ${MAX_DELIVERY_COUNT}`);
  }
  if (requiresSession !== sessions) {
    differences.push(
      `queue ${queue} has ${requiresSession ? "sessions" : "no sessions"}, but should be the other way round${anew}, or ` +
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

/** An ISO 8601 duration can be written in several ways. */
function toSeconds(duration: string): number {
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(duration) ?? [];
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}
