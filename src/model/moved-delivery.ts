import { formatDeliveryId, parseDeliveryId } from "./ids.ts";

/** A delivery that was moved to another subscription says so in its last error. */
export const MOVED = "moved to ";

export function describeMove(eventSeq: number, subscriptionSeq: number): string {
  return `${MOVED}${formatDeliveryId(eventSeq, subscriptionSeq)}`;
}

/** The subscription that the delivery was moved to. */
export function readMove(lastError: string | null | undefined): number | undefined {
  return lastError?.startsWith(MOVED) === true
    ? parseDeliveryId(lastError.slice(MOVED.length))?.subscriptionSeq
    : undefined;
}
