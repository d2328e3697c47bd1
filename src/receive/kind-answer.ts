import type { PosthornError } from "../domain/errors.ts";
import type { KindAnswer, PushedSourceKind } from "./sources/source-kind.ts";
import type { TakenEvent } from "./take-event.ts";

/** What the sender of a request is told. */
export type WebhookResult =
  | TakenEvent
  | { kind: "refused"; error: PosthornError }
  | { kind: "ignored"; cause: string }
  /** The sender gets the answer that its kind demands. */
  | { kind: "answered"; outcome: "accepted" | "duplicate" | "ignored" | "handshake"; answer: KindAnswer };

/** What became of a request, before it is put into the words that its sender understands. */
export type KindResult = WebhookResult | { kind: "split"; eventIds: readonly string[]; deliveries: number };

/** The answer of a kind that has one of its own. What was refused, or failed by our own fault, is the same for all. */
export function answerAs(kind: PushedSourceKind, result: KindResult): WebhookResult {
  switch (result.kind) {
    case "stored":
      if (kind.answer === undefined) return result;
      return {
        kind: "answered",
        outcome: "accepted",
        answer: kind.answer({ kind: "accepted", eventIds: [result.eventId] }),
      };
    case "split": {
      const { eventIds, deliveries } = result;
      const answer = kind.answer?.({ kind: "accepted", eventIds }) ?? {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ status: "queued", event_ids: eventIds, deliveries }),
      };
      return { kind: "answered", outcome: "accepted", answer };
    }
    case "duplicate":
      if (kind.answer === undefined) return result;
      return {
        kind: "answered",
        outcome: "duplicate",
        answer: kind.answer({ kind: "duplicate", eventId: result.eventId }),
      };
    case "ignored":
      if (kind.answer === undefined) return result;
      return { kind: "answered", outcome: "ignored", answer: kind.answer({ kind: "ignored", cause: result.cause }) };
    default:
      return result;
  }
}
