import { isSendersFault, type PosthornError } from "../../domain/errors.ts";
import type { KindResult } from "../kind-answer.ts";
import type { ParkReason } from "../sources/source-kind.ts";

/** Decides how to settle a message from its result. */
export type Judgement =
  /** Its events are on disk, from now or from an earlier delivery of the message. */
  | { kind: "stored"; eventIds: readonly string[]; deliveries: number; isKnown: boolean }
  /** Filtered out or ignored. */
  | { kind: "unwanted" }
  | { kind: "park"; reason: ParkReason }
  /** A temporary problem of ours: the message waits until it is over. */
  | { kind: "wait"; error: PosthornError }
  /** An internal error, perhaps caused by this message: it is returned, so that the queue counts its deliveries. */
  | { kind: "give-back"; error: PosthornError };

export function judgeResult(result: KindResult): Judgement {
  switch (result.kind) {
    case "stored":
      return { kind: "stored", eventIds: [result.eventId], deliveries: result.deliveries, isKnown: false };
    case "split":
      return { kind: "stored", eventIds: result.eventIds, deliveries: 0, isKnown: false };
    case "duplicate":
      return { kind: "stored", eventIds: [result.eventId], deliveries: 0, isKnown: true };
    case "ignored":
      if (result.cause !== "invalid") return { kind: "unwanted" };
      return {
        kind: "park",
        reason: { code: "invalid", description: "The message contains no event that can be accepted." },
      };
    case "answered":
      return { kind: "unwanted" };
    case "refused":
    case "failed":
      return judgeError(result.error);
  }
}

function judgeError(error: PosthornError): Judgement {
  const isTheirs: boolean = isSendersFault(error);
  if (isTheirs) return { kind: "park", reason: toParkReason(error) };
  return { kind: error.code === "internal_error" ? "give-back" : "wait", error };
}

export function toParkReason({ code, message }: PosthornError): ParkReason {
  return { code, description: message };
}
