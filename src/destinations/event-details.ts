import { findMember } from "../model/json.ts";

/** What the publisher of an event gave beyond what the engine needs. */
export interface EventDetails {
  /** The event's id at the gateway where it came in first, if that was another one. */
  originEventId?: string | undefined;
  sourceId?: string | undefined;
  userId?: string | undefined;
  sessionId?: string | undefined;
  /** Unix ms, as the publisher requested. */
  deliverAt?: number | undefined;
  expiresAt?: number | undefined;
  /** The original JSON text, so that numbers beyond 2^53 are kept. */
  metadata?: string | undefined;
}

const NONE: EventDetails = Object.freeze({});

export function readDetails(text: string | undefined): EventDetails {
  if (text === undefined) return NONE;
  const given = JSON.parse(text) as Record<string, unknown>;
  return {
    originEventId: textOf(given["origin_event_id"]),
    sourceId: textOf(given["source_id"]),
    userId: textOf(given["user_id"]),
    sessionId: textOf(given["session_id"]),
    deliverAt: numberOf(given["deliver_at"]),
    expiresAt: numberOf(given["expires_at"]),
    metadata: given["metadata"] === undefined ? undefined : cutOut(text, "metadata"),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function cutOut(text: string, name: string): string | undefined {
  const bytes = Buffer.from(text, "utf8");
  const span = findMember(bytes, 0, bytes.length, name);
  return span && bytes.toString("utf8", span.start, span.end);
}
