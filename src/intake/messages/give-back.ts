import type { PulledMessage } from "../../sources/source-kind.ts";
import type { HandlingOptions } from "./handle-message.ts";
import type { Hold } from "./hold.ts";
import { backOffMs, pause } from "./pause.ts";
import { GIVE_BACK, type Settlement } from "./settlement.ts";

/** For an internal error, perhaps caused by this message: the queue counts how often it comes. */
export async function giveBackAfterError(
  error: unknown,
  { deliveryCount }: PulledMessage,
  hold: Hold,
  { source, clock, stopping, onTrouble }: HandlingOptions,
): Promise<Settlement> {
  onTrouble(source, error, "a message could not be read because of an internal error and is returned to its queue");
  await pause(clock, backOffMs(deliveryCount), hold.over.signal, stopping);
  return GIVE_BACK;
}
