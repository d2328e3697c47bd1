import type { Clock } from "../domain/clock.ts";
import { isGatewayEventType, type GATEWAY_EVENT_TYPES } from "../domain/pattern.ts";
import type { Draft } from "../registry/draft.ts";
import type { IncomingEvent } from "../route/incoming-event.ts";
import type { Ingest } from "../route/ingest.ts";
import type { Router } from "../route/router.ts";

/** What the gateway tells of itself, as events that a tenant can subscribe to by name. */
export interface OwnEvents {
  /**
   * Accepted in the turn of the call. Never rejects: what the event tells of has happened whether it could be told or
   * not.
   */
  publishOwn(event: OwnEvent): Promise<void>;
  /** Written with the change that it tells of, or not at all. Answers the id that it has then. */
  tellWith(draft: Draft, event: OwnEvent): string;
}

export interface OwnEvent {
  type: (typeof GATEWAY_EVENT_TYPES)[number];
  tenantId: string;
  /** Never a secret. */
  data: Readonly<Record<string, unknown>>;
  /** The type of the event whose delivery led to this one; a failure to deliver an own event publishes nothing more. */
  causedBy?: string | undefined;
  /** Not even stored when nobody asks for it: for what may come in floods. */
  onlyIfWanted?: boolean | undefined;
}

export interface OwnEventsOptions {
  ingest: Pick<Ingest, "acceptOwn" | "plan">;
  clock: Clock;
  createId: (prefix: "evt") => string;
  /** Who wants what; without it everything is wanted. */
  router?: Pick<Router, "match" | "select"> | undefined;
  onFault: (error: unknown) => void;
}

const SOURCE = "posthorn";

export function createOwnEvents(options: OwnEventsOptions): OwnEvents {
  const { ingest, clock, createId, router, onFault } = options;
  return {
    tellWith(draft, own) {
      const { event, deliveries, done } = ingest.plan(toIncomingEvent(own, clock, createId("evt")));
      draft.accept(event, deliveries, done);
      return event.id;
    },
    publishOwn(own) {
      const { type, tenantId, causedBy, onlyIfWanted = false } = own;
      if (causedBy !== undefined && isGatewayEventType(causedBy)) return Promise.resolve();
      // By type first: in a flood that nobody asks for, nothing more is looked at.
      if (onlyIfWanted && router?.match(tenantId, type).length === 0) return Promise.resolve();
      const event = toIncomingEvent(own, clock, createId("evt"));
      if (onlyIfWanted && router?.select(event).length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        ingest.acceptOwn(event, (result) => {
          if (result.kind === "failed") onFault(result.error);
          resolve();
        });
      });
    },
  };
}

export function toIncomingEvent(
  { type, tenantId, data }: Pick<OwnEvent, "type" | "tenantId" | "data">,
  clock: Clock,
  id: string,
  { priority = "normal", orderingKey }: Partial<Pick<IncomingEvent, "priority" | "orderingKey">> = {},
): IncomingEvent {
  const wall = clock.wall();
  return {
    id,
    givenId: false,
    type,
    version: "1.0",
    source: SOURCE,
    tenantId,
    priority,
    origin: "publish",
    occurredAt: wall,
    receivedAt: wall,
    dueAt: clock.now(),
    expiresAt: undefined,
    orderingKey,
    dedupeKey: undefined,
    replayKey: undefined,
    contentType: "application/json",
    request: undefined,
    details: undefined,
    body: Buffer.from(JSON.stringify(data)),
    fanOutCursor: undefined,
  };
}
