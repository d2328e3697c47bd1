import type { Source } from "../domain/source.ts";
import type { PulledFacts } from "./pulled/opened-message.ts";
import type { ArrivedRequest } from "./sources/source-kind.ts";

/** One inbound request with its raw bytes. */
export interface WebhookRequest extends ArrivedRequest {
  readonly source: Source;
  readonly remoteAddress: string;
  /** When it first came; differs from `receivedAt` only when it is replayed. */
  readonly occurredAt: number;
  /** Set when it came as a message. */
  readonly pulled?: PulledFacts | undefined;
  /** The logged request, if this is a replay of it. */
  readonly keptAs: string | undefined;
}

/** The facts known before the body is read. */
export type RequestHead = Omit<WebhookRequest, "body">;

/** Field by field for speed, because every webhook passes here. */
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
