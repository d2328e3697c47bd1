import type { Claim } from "../queues/message-schema.ts";
import type { EventOrigin, Priority } from "../model/event.ts";

/** Facts about the event that a message contains in addition to the event's bytes. */
export interface AdoptedEvent {
  type: string;
  version: string;
  source: string;
  /** Undefined: the source's value. */
  tenantId: string | undefined;
  priority: Priority;
  orderingKey: string | undefined;
  origin: EventOrigin;
  /** Unix ms, like the two below. */
  occurredAt: number | undefined;
  deliverAt: number | undefined;
  expiresAt: number | undefined;
  contentType: string | undefined;
  /** Already checked where it came in first: neither its bytes nor its schema are checked again. */
  isChecked: boolean;
}

/** Facts about a message beyond the request that it becomes. */
export interface PulledFacts {
  /** The event's id, the same whenever the message comes; undefined if there is none, so that it may come twice. */
  eventId: string | undefined;
  /** The JSON that is kept with the event. */
  details: string | undefined;
  /** 1, and one more with each replay by its sender. */
  generation: number;
  /** Whether the message stays in its queue until the event's deliveries have ended. */
  isHeld: boolean;
  adopted: AdoptedEvent | undefined;
}

/** The content of a message, and where it comes from. */
export interface OpenedMessage {
  body: Buffer;
  headers: Readonly<Record<string, string>>;
  method: string;
  /** Undefined: the source's value. */
  path: string | undefined;
  query: string;
  remoteAddress: string;
  /** Where the body is stored, if it is not in the message. */
  claim: Claim | undefined;
  /** The message has credentials that this source has no key for: they are ignored. */
  hasSealed: boolean;
  /** The id of the store of the gateway that sent it, if one did. */
  origin: string | undefined;
  hops: number;
  facts: PulledFacts;
}
