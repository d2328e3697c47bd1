import type { Accepted, AcceptedRequest, AcceptedSeveral, Rejected } from "../model/accepted.ts";
import type { GivenUp } from "../model/forward-rules.ts";
import { jsonAnswer } from "../sources/plain-answer.ts";
import type { KindAnswer, PushedSourceKind } from "../sources/source-kind.ts";

/** What the sender of a webhook is answered: the result of its event, or a whole answer. */
export type WebhookResult = Accepted | Answered;

/** The answer that the kind of source requires, or that of a request with several events. */
export interface Answered {
  readonly kind: "answered";
  readonly outcome: "accepted" | "duplicate" | "ignored" | "handshake";
  readonly answer: KindAnswer;
  /** The first of several. */
  readonly eventId?: string | undefined;
}

const OUTCOMES = { stored: "accepted", several: "accepted", duplicate: "duplicate", ignored: "ignored" } as const;

/** The answer of a kind that defines one. Rejections are answered the same way for all kinds. */
export function answerAs(kind: PushedSourceKind, result: AcceptedRequest): WebhookResult {
  if (result.kind === "rejected") return result;
  if (kind.answer !== undefined) {
    const answer = kind.answer(result);
    return { kind: "answered", outcome: OUTCOMES[result.kind], answer, eventId: findEventId(result) };
  }
  return result.kind === "several" ? answerSeveral(result) : result;
}

function answerSeveral({ eventIds, deliveries, givenUp }: AcceptedSeveral): Answered {
  const facts =
    givenUp === undefined
      ? { status: "queued", event_ids: eventIds, deliveries }
      : { ...describeGivenUp(givenUp), event_ids: eventIds };
  const answer = jsonAnswer(JSON.stringify(facts), givenUp?.isError === true ? BAD_GATEWAY : 200);
  return { kind: "answered", outcome: "accepted", answer, eventId: eventIds[0] };
}

function findEventId(result: Exclude<AcceptedRequest, Rejected>): string | undefined {
  if (result.kind === "several") return result.eventIds[0];
  return result.kind === "ignored" ? undefined : result.eventId;
}

export const BAD_GATEWAY = 502;

/** `dead_letter`: the target was not asked, or has not answered. */
export function describeGivenUp({ reason, code }: GivenUp): Record<string, unknown> {
  return code === undefined ? { status: "dead_letter", reason } : { status: "rejected_by_target", code, reason };
}
