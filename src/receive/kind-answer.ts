import type { KindAnswer, KindOutcome, SourceKind } from "./sources/source-kind.ts";
import type { WebhookResult } from "./webhook.ts";

/** What became of a request, before it is put into the words that its sender understands. */
export type KindResult = WebhookResult | { kind: "split"; eventIds: readonly string[]; deliveries: number };

/** The answer of a kind. What was refused, or failed by our own fault, is the same for all. */
export function answerAs(kind: SourceKind, result: KindResult): WebhookResult {
  switch (result.kind) {
    case "stored": {
      const { eventId, deliveries, forward } = result;
      const answer = kind.answer?.({ kind: "accepted", eventIds: [eventId] });
      if (answer !== undefined) return accepted(answer);
      const isForwarded = forward?.isDelivered === true;
      const body = isForwarded
        ? { status: "forwarded", event_id: eventId }
        : { status: "queued", event_id: eventId, deliveries };
      return accepted(toJson(body));
    }
    case "split": {
      const { eventIds, deliveries } = result;
      const answer = kind.answer?.({ kind: "accepted", eventIds });
      return accepted(answer ?? toJson({ status: "queued", event_ids: eventIds, deliveries }));
    }
    case "duplicate": {
      const { eventId } = result;
      const answer = answerTo(kind, { kind: "duplicate", eventId }, { status: "duplicate", event_id: eventId });
      return { kind: "answered", outcome: "duplicate", answer };
    }
    case "ignored": {
      const { cause } = result;
      const answer = answerTo(kind, { kind: "ignored", cause }, { status: "ignored", cause });
      return { kind: "answered", outcome: "ignored", answer };
    }
    default:
      return result;
  }
}

function accepted(answer: KindAnswer): WebhookResult {
  return { kind: "answered", outcome: "accepted", answer };
}

function answerTo(kind: SourceKind, outcome: KindOutcome, body: object): KindAnswer {
  return kind.answer?.(outcome) ?? toJson(body);
}

function toJson(body: object): KindAnswer {
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
