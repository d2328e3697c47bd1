import type { LoggedRequest } from "../store/port/event-log.ts";
import { describeRequest } from "./request-facts.ts";
import type { WebhookRequest } from "./webhook.ts";

/** What is kept of requests that made no event, or not only. */
export interface WebhookLog {
  rejected(request: Omit<WebhookRequest, "body">, cause: string, body: Buffer | undefined, size: number): void;
  /** `parts`: where a request was split, what became of each. */
  ignored(request: WebhookRequest, cause: string, eventId: string | undefined, parts?: readonly LoggedPart[]): void;
}

export interface LoggedPart {
  eventId: string | undefined;
  outcome: "accepted" | "ignored";
  cause: string | undefined;
}

/** A request of two megabytes holds half as many. */
const MAX_PARTS = 20_000;

export interface WebhookLogOptions {
  logRequest: (request: LoggedRequest) => void;
  createId: (prefix: "req") => string;
}

export function createWebhookLog({ logRequest, createId }: WebhookLogOptions): WebhookLog {
  function write(
    request: Omit<WebhookRequest, "body">,
    entry: Pick<LoggedRequest, "outcome" | "cause" | "eventId" | "size" | "body" | "parts">,
  ): void {
    const { source } = request;
    if (request.isReplayed) return;
    logRequest({
      id: createId("req"),
      ring: source.declared ? source.name : "*",
      source: source.name,
      tenantId: source.tenantId,
      receivedAt: request.receivedAt,
      facts: request.facts ?? describeRequest(request, source.hidden),
      outcome: entry.outcome,
      cause: entry.cause,
      eventId: entry.eventId,
      parts: entry.parts,
      size: entry.size,
      body: entry.body,
    });
  }

  return {
    rejected: (request, cause, body, size) =>
      write(request, { outcome: "rejected", cause, eventId: undefined, parts: undefined, size, body }),
    ignored(request, cause, eventId, parts) {
      const { body } = request;
      const shown = parts?.slice(0, MAX_PARTS).map((part) => ({
        event_id: part.eventId ?? null,
        outcome: part.outcome,
        cause: part.cause ?? null,
      }));
      const written = shown === undefined ? undefined : JSON.stringify(shown);
      write(request, { outcome: "ignored", cause, eventId, parts: written, size: body.length, body });
    },
  };
}
