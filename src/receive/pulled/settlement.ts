import type { ParkReason } from "../sources/source-kind.ts";
import type { Hold } from "./hold.ts";

/** What is to become of a message. `seqs`: of the events whose message it is, where that is noted. */
export type Settlement =
  | { kind: "acknowledge"; seqs?: readonly number[] }
  | { kind: "retry" | "leave" }
  | { kind: "park"; reason: ParkReason; seqs?: readonly number[] };

export function giveBack({ isLost }: Hold): Settlement {
  return { kind: isLost ? "leave" : "retry" };
}
