import type { Source } from "../../model/source.ts";
import type { WebhookRequest } from "../request.ts";
import type { PulledMessage } from "../../sources/source-kind.ts";
import type { OpenedMessage } from "../../sources/opened-message.ts";

/** Turns a message into the HTTP request that it would have been. */
export function toRequest(
  source: Source,
  message: PulledMessage,
  receivedAt: number,
  opened?: OpenedMessage,
): WebhookRequest {
  return {
    source,
    method: opened?.method ?? "POST",
    path: opened?.path ?? `/webhook/${source.name}`,
    query: opened?.query ?? "",
    remoteAddress: opened?.remoteAddress ?? "",
    headers: opened?.headers ?? message.headers,
    receivedAt,
    occurredAt: message.enqueuedAt ?? receivedAt,
    url: "",
    keptAs: undefined,
    pulled: opened?.facts,
    body: opened?.body ?? message.body,
  };
}
