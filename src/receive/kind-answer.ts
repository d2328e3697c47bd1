import { jsonAnswer } from "./sources/plain-answer.ts";
import type { KindAnswer, KindOutcome, PushedSourceKind } from "./sources/source-kind.ts";
import type { TakenEvent } from "./take-event.ts";
import type { RefusedWebhook } from "./webhook-log.ts";

/** The answer to the sender of a request. */
export type WebhookResult =
  | TakenEvent
  | RefusedWebhook
  | { kind: "ignored"; cause: string }
  /** The answer that the kind of source requires. */
  | { kind: "answered"; outcome: "accepted" | "duplicate" | "ignored" | "handshake"; answer: KindAnswer };

/** The result of a request, before it becomes an answer of its kind. */
export type KindResult = WebhookResult | { kind: "split"; eventIds: readonly string[]; deliveries: number };

/** The answer of a kind that defines one. Rejections and our own errors are answered the same way for all kinds. */
export function answerAs(kind: PushedSourceKind, result: KindResult): WebhookResult {
  const outcome = findOutcome(result);
  if (outcome !== undefined && kind.answer !== undefined) {
    return { kind: "answered", outcome: outcome.kind, answer: kind.answer(outcome) };
  }
  if (result.kind !== "split") return result;
  const { eventIds, deliveries } = result;
  const answer = jsonAnswer(JSON.stringify({ status: "queued", event_ids: eventIds, deliveries }));
  return { kind: "answered", outcome: "accepted", answer };
}

function findOutcome(result: KindResult): KindOutcome | undefined {
  switch (result.kind) {
    case "stored":
      return { kind: "accepted", eventIds: [result.eventId] };
    case "split":
      return { kind: "accepted", eventIds: result.eventIds };
    case "duplicate":
      return { kind: "duplicate", eventId: result.eventId };
    case "ignored":
      return { kind: "ignored", cause: result.cause };
    default:
      return undefined;
  }
}
