import type { GivenUp } from "../domain/forward-rules.ts";
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
  | {
      kind: "answered";
      outcome: "accepted" | "duplicate" | "ignored" | "handshake";
      answer: KindAnswer;
      /** The first of several. */
      eventId?: string | undefined;
    };

/** The result of a request, before it becomes an answer of its kind. */
export type KindResult = WebhookResult | SplitResult;

interface SplitResult {
  kind: "split";
  eventIds: readonly string[];
  deliveries: number;
  /** Set when the forwards of all its events were given up. */
  givenUp: GivenUp | undefined;
}

/** The answer of a kind that defines one. Rejections and our own errors are answered the same way for all kinds. */
export function answerAs(kind: PushedSourceKind, result: KindResult): WebhookResult {
  const outcome = findOutcome(result);
  if (outcome !== undefined && kind.answer !== undefined) {
    return { kind: "answered", outcome: outcome.kind, answer: kind.answer(outcome), eventId: eventIdOf(outcome) };
  }
  if (result.kind !== "split") return result;
  const { eventIds, deliveries, givenUp } = result;
  const facts =
    givenUp === undefined
      ? { status: "queued", event_ids: eventIds, deliveries }
      : { ...describeGivenUp(givenUp), event_ids: eventIds };
  const answer = jsonAnswer(JSON.stringify(facts), givenUp?.isError === true ? BAD_GATEWAY : 200);
  return { kind: "answered", outcome: "accepted", answer, eventId: eventIds[0] };
}

function eventIdOf(outcome: KindOutcome): string | undefined {
  if (outcome.kind === "accepted") return outcome.eventIds[0];
  return outcome.kind === "duplicate" ? outcome.eventId : undefined;
}

export const BAD_GATEWAY = 502;

/** `dead_letter`: the target was not asked, or has not answered. */
export function describeGivenUp({ reason, code }: GivenUp): Record<string, unknown> {
  return code === undefined ? { status: "dead_letter", reason } : { status: "rejected_by_target", code, reason };
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
