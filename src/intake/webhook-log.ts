import { type Rejected, rejectedBy } from "../model/accepted.ts";
import { isSendersFault } from "../model/errors.ts";
import { createTokenBucket } from "../model/token-bucket.ts";
import type { LoggedRequest } from "../store/port/event-log.ts";
import { maskLogged } from "../accept/masking.ts";
import { describeRequest, type RequestHead, type WebhookRequest } from "./request.ts";

export type WebhookLog = ReturnType<typeof createWebhookLog>;

/** The result of one event of a request, as it is stored. */
export interface LoggedPart {
  event_id: string | null;
  outcome: "accepted" | "ignored";
  cause: string | null;
}

/** Twice as many as a request of two megabytes can have. */
const MAX_PARTS = 20_000;

interface WebhookLogOptions {
  /** Returns whether it is stored. */
  logRequest: (request: LoggedRequest) => boolean;
  createId: (prefix: "req") => string;
}

/** Stores requests that were rejected or ignored, completely or in part. */
export function createWebhookLog({ logRequest, createId }: WebhookLogOptions) {
  function write(
    request: RequestHead,
    entry: Pick<LoggedRequest, "outcome" | "cause" | "eventId" | "size" | "body" | "parts">,
  ): string | undefined {
    const { source } = request;
    if (request.keptAs !== undefined) return undefined;
    const kept = { facts: describeRequest(request, source.hidden), body: entry.body };
    const { facts, body } = source.mask === undefined ? kept : maskLogged(source.mask, kept);
    const id = createId("req");
    const isStored = logRequest({
      id,
      ring: source.declared ? source.name : "*",
      source: source.name,
      tenantId: source.tenantId,
      receivedAt: request.receivedAt,
      ...entry,
      facts,
      body,
    });
    return isStored ? id : undefined;
  }

  /** Returns the id under which it is stored, unless too much is being rejected to store it. */
  function rejected(request: RequestHead, cause: string, body: Buffer | undefined, size: number): string | undefined {
    return write(request, { outcome: "rejected", cause, eventId: undefined, parts: undefined, size, body });
  }

  return {
    rejected,
    /**
     * Rejects a request; it is stored only if the error is the sender's. `body`: undefined if it was not read. Never
     * throws.
     */
    reject(request: RequestHead, error: unknown, body: Buffer | undefined, size: number): Rejected {
      if (!isSendersFault(error)) return toRejected(error);
      try {
        return toRejected(error, rejected(request, error.code, body, size));
      } catch (fault) {
        return toRejected(fault);
      }
    },
    /** `parts`: the result of each event, if the request was split. */
    ignored(request: WebhookRequest, cause: string, eventId: string | undefined, parts?: readonly LoggedPart[]): void {
      const { body } = request;
      const written = parts && JSON.stringify(parts.slice(0, MAX_PARTS));
      write(request, { outcome: "ignored", cause, eventId, parts: written, size: body.length, body });
    },
  };
}

/** The rejection of a request that a step has thrown an error for. */
export function toRejected(fault: unknown, requestId?: string): Rejected {
  return rejectedBy(fault, "check", "The webhook could not be processed.", requestId);
}

/** How much is stored of rejected requests per second; twice as much in a burst. */
const BYTES_PER_S = 1024 * 1024;
const MAX_BURST_BYTES = 2 * 1024 * 1024;

/**
 * Rejected requests share the disk with accepted events: without a limit, a flood of invalid requests would
 * delay valid ones. Beyond the limit a request is stored without its body, then without the results of its events,
 * then not at all.
 */
export function createRequestLog(
  log: (request: LoggedRequest) => void,
  now: () => number,
): WebhookLogOptions["logRequest"] {
  const bucket = createTokenBucket(BYTES_PER_S, now(), MAX_BURST_BYTES);
  return (request) => {
    const at = now();
    const room = bucket.available(at);
    const bodyBytes = request.body?.length ?? 0;
    const factBytes = request.facts.length;
    const partBytes = request.parts?.length ?? 0;
    if (factBytes > room) return false;
    const hasParts = factBytes + partBytes <= room;
    const hasBody = factBytes + partBytes + bodyBytes <= room;
    bucket.take(at, factBytes + (hasParts ? partBytes : 0) + (hasBody ? bodyBytes : 0));
    if (hasBody) log(request);
    else log({ ...request, body: undefined, parts: hasParts ? request.parts : undefined });
    return true;
  };
}
