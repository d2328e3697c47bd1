import { BrokerFault } from "../../queues/broker-fault.ts";
import type { ParkReason, PulledMessage } from "../../sources/source-kind.ts";
import type { HandlingOptions } from "./handle-message.ts";
import type { Hold } from "./hold.ts";
import { backOffMs, pause } from "./pause.ts";

/** False when it could not be parked. Then it comes again: it must not fill the source's places until somebody looks. */
export async function parkMessage(
  message: PulledMessage,
  reason: ParkReason,
  hold: Hold,
  { taker, limits, clock, stopping, onParked }: HandlingOptions,
): Promise<boolean> {
  try {
    await taker.park(message, reason);
    onParked(undefined);
    return true;
  } catch (error) {
    const isLost = error instanceof BrokerFault && error.kind === "lost";
    if (!isLost) onParked(error);
    const waitMs = backOffMs(message.deliveryCount);
    // A broker that can delay it keeps it meanwhile, and other messages have its place.
    if (limits.canDelayRetry !== true && !isLost) await pause(clock, waitMs, hold.over.signal, stopping);
    await taker.retry(message, waitMs);
    return false;
  }
}
