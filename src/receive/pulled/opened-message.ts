import type { Claim } from "../../brokers/message-schema.ts";
import type { EventOrigin, Priority } from "../../domain/event.ts";

/** What a message says of its event, where that is more than the event's bytes. */
export interface AdoptedEvent {
  type: string;
  version: string;
  source: string;
  /** Undefined: that of the source. */
  tenantId: string | undefined;
  priority: Priority;
  orderingKey: string | undefined;
  origin: EventOrigin;
  /** Unix ms, like the two below. */
  occurredAt: number | undefined;
  deliverAt: number | undefined;
  expiresAt: number | undefined;
  contentType: string | undefined;
  /** It was checked where it came in first: neither its bytes nor its schema are judged again. */
  isChecked: boolean;
}

/** What is to be known of a message beyond the request that it would be. */
export interface PulledFacts {
  /** What its event is called, whenever it comes; undefined where nobody named it, so that it may come twice. */
  eventId: string | undefined;
  /** JSON of what is kept with the event. */
  details: string | undefined;
  /** 1, and one more with each replay by whoever sent it. */
  generation: number;
  /** Whether it stays in its queue until the event's deliveries have ended. */
  isHeld: boolean;
  adopted: AdoptedEvent | undefined;
}

/** A message that was opened: what stands in it, and where it comes from. */
export interface OpenedMessage {
  body: Buffer;
  headers: Readonly<Record<string, string>>;
  method: string;
  /** Undefined: that of the source. */
  path: string | undefined;
  query: string;
  remoteAddress: string;
  /** Where its body lies, if not in it. */
  claim: Claim | undefined;
  /** It has credentials that this source has no key for: they are left where they are. */
  hasSealed: boolean;
  /** The store that sent it, where one did. */
  origin: string | undefined;
  hops: number;
  facts: PulledFacts;
}
