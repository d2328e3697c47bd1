import type { IncomingHttpHeaders } from "node:http";
import type { TObject } from "typebox";
import type { ClaimCheck } from "../../brokers/claim-check.ts";
import type { SecretForm } from "../../domain/secret-form.ts";
import type { PullDefaults } from "../pulled/pull-options.ts";
import type { WellFormed } from "../text/well-formed.ts";

/**
 * The port of a source kind: where events come from. A pushed one's sender comes to us by HTTP; of a pulled one we take
 * messages from a queue. Both go the same way from there.
 */
export type SourceKind = PushedSourceKind | PulledSourceKind;

/** Every part is optional; what a kind leaves out is done as for a generic source. */
interface AnySourceKind {
  readonly name: string;
  /** What `options` of such a source may hold. Without it, nothing. */
  readonly options?: TObject | undefined;
  /** Patterns that are let through where the source names none (`only`). */
  readonly only?: readonly string[] | undefined;
  /** Whether a source of this kind needs at least one secret to verify anything. */
  readonly needsSecret: boolean;
  /** How its secrets are written, by the options of the source. Without it: as a text whose bytes are the key. */
  secretForm?(options: Readonly<Record<string, unknown>>): SecretForm;
  /**
   * The largest body that the provider sends, where that is more than what sources take by default: it may never send
   * again what was too large.
   */
  readonly maxBytes?: number | undefined;
  /** JSON Pointers whose scalars `events` finds in `texts`, as they stand in the body: no number goes through a float. */
  readonly pointers?: readonly (readonly string[])[] | undefined;
  /** Throws `invalid_field` unless a source of this kind can have it as its `manifest`. */
  checkManifest?(manifest: Readonly<Record<string, unknown>>): void;
  /**
   * What the request tells. Throws `unreadable_body` when it cannot be read. A promise is for what takes several turns
   * of the event loop.
   */
  events?(request: ArrivedRequest, settings: KindSettings, form: WellFormed): Reading | Promise<Reading>;
}

/** How a provider's requests are verified, answered, split into events and identified. */
export interface PushedSourceKind extends AnySourceKind {
  readonly pull?: undefined;
  /** Methods that the provider's handshake uses beside those of the source. */
  readonly handshakeMethods?: readonly string[] | undefined;
  /** The answer to a request that only asks whether this is the right place; nothing is recorded. Comes first. */
  handshake?(request: ArrivedRequest, settings: KindSettings): KindAnswer | undefined;
  /** Throws or rejects with `bad_signature` unless the request is from whom it says; over the raw bytes. */
  verify?(request: ArrivedRequest, settings: KindSettings): void | Promise<void>;
  /**
   * What is the same whenever the same request is sent again, once it is verified: its signature, where that covers no
   * id, so that whoever has seen a request can send it again as another. Such sources may refuse that.
   */
  replayMark?(request: ArrivedRequest, settings: KindSettings): string;
  /** What the provider must be told. Without it: 200, and a body that says what became of the request. */
  answer?(outcome: KindOutcome): KindAnswer;
}

/** How messages are taken from a queue and settled. Without `events`, a message is one event. */
export interface PulledSourceKind extends AnySourceKind {
  readonly pull: {
    readonly limits: PullLimits;
    /** Where they are others than those of all. */
    readonly defaults?: PullDefaults | undefined;
    /** Rejects when the queue cannot be reached; it is asked again later. */
    open(settings: KindSettings): Promise<Taker>;
    /** Where bodies lie that were too large for the queue, if the source says so. */
    findClaims?(settings: KindSettings): Pick<ClaimCheck, "read" | "remove"> | undefined;
    /** Throws `invalid_field` for what cannot work here: a connection that nobody has configured. */
    check?(options: Readonly<Record<string, unknown>>): void;
  };
}

/** What the broker's messages can be held to, as data. */
export interface PullLimits {
  /** How long a message is left with its taker before another may have it; undefined: as long as its taker lives. */
  readonly holdMs: number | undefined;
  /** Whether that can be made longer while it is held. */
  readonly canRenew: boolean;
}

/**
 * One queue. It connects again by itself: a call rejects while the broker is away, and what was taken over a connection
 * that is lost comes again.
 */
export interface Taker {
  /**
   * At most so many. Waits for the first as long as the broker does that by itself, else none is there; none, too, when
   * the signal ends it. What is taken comes again unless it is settled.
   */
  take(max: number, signal: AbortSignal): Promise<readonly PulledMessage[]>;
  /** Nothing is wanted until the next `take`: what was brought and not taken goes back. */
  rest(): Promise<void>;
  /** It never comes again once this has resolved. */
  acknowledge(message: PulledMessage): Promise<void>;
  /** It is given back, and comes again. */
  retry(message: PulledMessage): Promise<void>;
  /** It is laid aside with the reason, where people find it, and then never comes again. */
  park(message: PulledMessage, reason: ParkReason): Promise<void>;
  /** From now it is held as long as a message that was just taken. Rejects when another may have it already. */
  renew(message: PulledMessage): Promise<void>;
  /** How many wait in the queue; undefined when the broker does not say. */
  depth(): Promise<number | undefined>;
  /** What is held and not settled comes again. */
  close(): Promise<void>;
}

export interface PulledMessage {
  /** What the sender or the broker calls it, the same whenever it comes again; undefined where nobody does. */
  readonly id: string | undefined;
  readonly body: Buffer;
  /** Its properties. Names in lower case; `content-type` among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** How often it was taken, this time included. */
  readonly deliveryCount: number;
  /** Wall clock, milliseconds; when it was put into the queue, where the broker says. */
  readonly enqueuedAt?: number | undefined;
  /** The queue, and the exchange before it: in the words of `domain/queue-place.ts`. */
  readonly pulledFrom?: readonly string[] | undefined;
}

export interface ParkReason {
  /** A code of `domain/errors.ts`, or `dead` or `max_deliveries`. */
  readonly code: string;
  readonly description: string;
}

/** A request as it came. Names of headers are in lower case. */
export interface ArrivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Wall clock, milliseconds. */
  readonly receivedAt: number;
  /** As the sender addressed it, by POSTHORN_PUBLIC_URL or a trusted proxy: some schemes sign it. */
  readonly url: string;
}

export interface KindSettings {
  readonly source: string;
  /** All that are live; the first is current. */
  readonly secrets: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  /** A path or the document itself, as the source says. */
  readonly manifest?: string | Readonly<Record<string, unknown>> | undefined;
}

export interface Reading {
  readonly events: readonly ReadEvent[];
  /** Parts of the request that make no event, with the reason. */
  readonly ignored?: readonly { readonly cause: string }[] | undefined;
}

export interface ReadEvent {
  /** `github.push`. */
  readonly type: string;
  /** Its own id, where the kind makes one: the event is called so everywhere. It tells a repetition, too. */
  readonly id?: string | undefined;
  /** Tells a repetition from a new event, within the source. */
  readonly identity: string | undefined;
  readonly orderingKey?: string | undefined;
  /** Wall clock, milliseconds; when it came unless the provider says. */
  readonly occurredAt?: number | undefined;
  /** Its own bytes where a request is split; else those of the request. */
  readonly body?: Buffer | undefined;
  readonly contentType?: string | undefined;
}

export type KindOutcome =
  | { readonly kind: "accepted"; readonly eventIds: readonly string[] }
  | { readonly kind: "duplicate"; readonly eventId: string }
  | { readonly kind: "ignored"; readonly cause: string };

export interface KindAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}
