import { isSendersFault, type PosthornError } from "../../domain/errors.ts";
import type { KindResult } from "../kind-answer.ts";
import type { ParkReason } from "../sources/source-kind.ts";

/** What is to become of a message, by what became of it here. */
export type Judgement =
  /** Its events are on disk, now or since it came before. */
  | { kind: "stored"; eventIds: readonly string[]; deliveries: number; isKnown: boolean }
  /** Nobody wants it. */
  | { kind: "unwanted" }
  | { kind: "park"; reason: ParkReason }
  /** Our own trouble, which passes: the message waits for that. */
  | { kind: "wait"; error: PosthornError }
  /** Our own mistake, with this very message perhaps: it is given back, so that its queue counts how often. */
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
      return { kind: "park", reason: { code: "invalid", description: "It holds no event that could be taken in." } };
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
