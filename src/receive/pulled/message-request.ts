import type { Source } from "../../domain/source.ts";
import type { PulledMessage } from "../sources/source-kind.ts";
import type { WebhookRequest } from "../webhook-request.ts";

/** A message as the request that it would be if it had been sent to its source. */
export function toRequest(source: Source, message: PulledMessage, receivedAt: number): WebhookRequest {
  return {
    source,
    method: "POST",
    path: `/webhook/${source.name}`,
    query: "",
    remoteAddress: "",
    headers: message.headers,
    receivedAt,
    occurredAt: message.enqueuedAt ?? receivedAt,
    url: "",
    keptAs: undefined,
    messageId: message.id,
    body: message.body,
  };
}
