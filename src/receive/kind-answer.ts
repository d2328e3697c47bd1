import type { KindAnswer, SourceKind } from "./sources/source-kind.ts";
import type { WebhookResult } from "./webhook.ts";

/** What became of a request, before it is put into the words that its sender understands. */
export type KindResult = WebhookResult | { kind: "split"; eventIds: readonly string[]; deliveries: number };

/** The answer of a kind. What was refused, or failed by our own fault, is the same for all. */
export function answerAs(kind: SourceKind, result: KindResult): WebhookResult {
  switch (result.kind) {
    case "stored": {
      const { eventId, deliveries } = result;
      const answer = kind.answer?.({ kind: "accepted", eventIds: [eventId] });
      return accepted(answer ?? toJson(`{"status":"queued","event_id":"${eventId}","deliveries":${deliveries}}`));
    }
    case "split": {
      const { eventIds, deliveries } = result;
      const answer = kind.answer?.({ kind: "accepted", eventIds });
      return accepted(answer ?? toJson(JSON.stringify({ status: "queued", event_ids: eventIds, deliveries })));
    }
    case "duplicate": {
      const { eventId } = result;
      const answer = kind.answer?.({ kind: "duplicate", eventId });
      const body = `{"status":"duplicate","event_id":"${eventId}"}`;
      return { kind: "answered", outcome: "duplicate", answer: answer ?? toJson(body) };
    }
    case "ignored": {
      const { cause } = result;
      const answer = kind.answer?.({ kind: "ignored", cause });
      const body = JSON.stringify({ status: "ignored", cause });
      return { kind: "answered", outcome: "ignored", answer: answer ?? toJson(body) };
    }
    default:
      return result;
  }
}

function accepted(answer: KindAnswer): WebhookResult {
  return { kind: "answered", outcome: "accepted", answer };
}

const JSON_TYPE = { "content-type": "application/json" };

function toJson(body: string): KindAnswer {
  return { status: 200, headers: JSON_TYPE, body };
}
