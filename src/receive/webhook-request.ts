import type { Source } from "../domain/source.ts";
import type { PulledFacts } from "./pulled/opened-message.ts";
import type { ArrivedRequest } from "./sources/source-kind.ts";

/** One inbound request with its raw bytes. */
export interface WebhookRequest extends ArrivedRequest {
  readonly source: Source;
  readonly remoteAddress: string;
  /** When it came first: another time than `receivedAt` only when it is taken in again. */
  readonly occurredAt: number;
  /** Of the message that it came as. */
  readonly pulled?: PulledFacts | undefined;
  /** It is in the log already, as this, and is taken in again by hand. */
  readonly keptAs: string | undefined;
}

/** What is known before the body is read. */
export type RequestHead = Omit<WebhookRequest, "body">;

/** Field by field: each webhook passes here. */
export function addBody(head: RequestHead, body: Buffer): WebhookRequest {
  return {
    source: head.source,
    method: head.method,
    path: head.path,
    query: head.query,
    remoteAddress: head.remoteAddress,
    headers: head.headers,
    receivedAt: head.receivedAt,
    occurredAt: head.occurredAt,
    url: head.url,
    keptAs: head.keptAs,
    body,
  };
}
