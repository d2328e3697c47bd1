import type { Clock } from "../model/clock.ts";
import { isGatewayEventType, type GATEWAY_EVENT_TYPES } from "../model/pattern.ts";
import type { Draft } from "../resources/draft.ts";
import type { IncomingEvent } from "./fan-out.ts";
import type { Ingest } from "./ingest.ts";
import type { Router } from "./router.ts";

/** Publishes the gateway's own events, which tenants can subscribe to by name. */
export interface OwnEvents {
  /**
   * Accepts the event in the turn of the call. Never rejects: what the event reports has happened even when the event
   * could not be stored.
   */
  publishOwn(event: OwnEvent): Promise<void>;
  /** Writes the event with the change that it reports, or not at all. Returns its id. */
  tellWith(draft: Draft, event: OwnEvent): string;
}

export interface OwnEvent {
  type: (typeof GATEWAY_EVENT_TYPES)[number];
  tenantId: string;
  /** Never contains a secret. */
  data: Readonly<Record<string, unknown>>;
  /** The type of the event whose delivery caused this one; a failed delivery of an own event publishes nothing more. */
  causedBy?: string | undefined;
  /** Not even stored when no subscription wants it: for events that may come in floods. */
  onlyIfWanted?: boolean | undefined;
}

export interface OwnEventsOptions {
  ingest: Pick<Ingest, "acceptOwn" | "plan">;
  clock: Clock;
  createId: (prefix: "evt") => string;
  /** Finds the subscriptions that want an event; without it, every event is wanted. */
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
      // Check the type first: in a flood that nobody wants, nothing more is examined.
      if (onlyIfWanted && router?.match(tenantId, type).length === 0) return Promise.resolve();
      const event = toIncomingEvent(own, clock, createId("evt"));
      if (onlyIfWanted && router?.select(event).length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        ingest.acceptOwn(event, (result) => {
          if (result.kind === "rejected") onFault(result.error);
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
