import type { PosthornError } from "../domain/errors.ts";
import { jsonAnswer } from "./sources/plain-answer.ts";
import type { KindAnswer, KindOutcome, PushedSourceKind } from "./sources/source-kind.ts";
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
