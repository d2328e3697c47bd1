import type { PosthornError } from "../../model/errors.ts";
import type { ParkReason } from "../../sources/source-kind.ts";

/**
 * How a message is settled. `seqs`: its events, if the settlement is stored. `eventId`: the first of its events, if it
 * has any; `isKnown` if they were on disk before.
 */
export type Settlement =
  | { kind: "acknowledge"; seqs?: readonly number[]; eventId?: string | undefined; isKnown?: boolean }
  | { kind: "retry" }
  | { kind: "park"; reason: ParkReason; afterMs?: number; seqs?: readonly number[]; eventId?: string | undefined };

/** Also of one that could not be renewed and may be another's by now: its taker must not count it as held any more. */
export const GIVE_BACK: Settlement = { kind: "retry" };

export function toParkReason({ code, message }: PosthornError): ParkReason {
  return { code, description: message };
}
