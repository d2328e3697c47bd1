import type { IncomingHttpHeaders } from "node:http";
import type { AcceptedRequest, Rejected } from "../model/accepted.ts";
import type { SourceKindRules } from "../model/source.ts";
import type { Taker } from "../queues/broker.ts";
import type { Claims } from "../queues/claim-check.ts";
import type { WellFormed } from "../sandbox/text/body-check.ts";

/**
 * The port of a source kind. For a pushed kind the sender calls us by HTTP; for a pulled kind we
 * receive messages from a queue. From there on both are handled in the same way.
 */
export type SourceKind = PushedSourceKind | PulledSourceKind;

/** Every part is optional; a part that a kind leaves out works as for a generic source. */
interface AnySourceKind extends SourceKindRules {
  /**
   * What the request tells. Throws `unreadable_body` when it cannot be read. A promise is for what takes several turns
   * of the event loop.
   */
  events?(request: ArrivedRequest, settings: KindSettings, form: WellFormed): Reading | Promise<Reading>;
}

/** Verifies and answers a provider's requests, splits them into events and identifies these. */
export interface PushedSourceKind extends AnySourceKind {
  readonly isPulled?: undefined;
  /** Answers the provider's handshake, of which nothing is stored. Called first. */
  handshake?(request: ArrivedRequest, settings: KindSettings): KindAnswer | undefined;
  /** Verifies the sender from the raw bytes. Throws or rejects with `bad_signature`. */
  verify?(request: ArrivedRequest, settings: KindSettings): void | Promise<void>;
  /**
   * A value that identifies a repeated request (usually its signature), for providers whose signature covers no id. Used
   * to reject replays. Called after `verify`.
   */
  replayMark?(request: ArrivedRequest, settings: KindSettings): string;
  /** The answer that the provider needs. Without it, a body with the result. */
  answer?(result: Exclude<AcceptedRequest, Rejected>): KindAnswer;
}

/** Receives messages from a queue and settles them. Without `events`, a message is one event. */
export interface PulledSourceKind extends AnySourceKind {
  readonly isPulled: true;
  /** Rejects when the queue cannot be reached; the caller retries. */
  openTaker(settings: KindSettings): Promise<Taker>;
  /** The number of waiting messages; undefined when the broker does not report it. */
  depth(settings: KindSettings): Promise<number | undefined>;
  /** The queue in the words of `model/connection.ts`, if it is one of a broker. */
  describePlace?(options: Readonly<Record<string, unknown>>): string;
  /** The storage of bodies that were too large for the queue, if the source has one. */
  findClaims?(settings: KindSettings): Claims | undefined;
}

/** A request as received. Names of headers are in lower case. */
export interface ArrivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Wall clock, milliseconds. */
  readonly receivedAt: number;
  /** The URL that the sender used, from POSTHORN_PUBLIC_URL or a trusted proxy: some schemes sign it. */
  readonly url: string;
}

export interface KindSettings {
  readonly source: string;
  /** All valid secrets; the first is the current one. */
  readonly secrets: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  /** A path or the document itself, as in the source. */
  readonly manifest?: string | Readonly<Record<string, unknown>> | undefined;
}

export interface Reading {
  readonly events: readonly ReadEvent[];
  /** Parts of the request without an event, with the reason. */
  readonly ignored?: readonly { readonly cause: string }[] | undefined;
}

export interface ReadEvent {
  /** `github.push`. */
  readonly type: string;
  /** The id of the event, if the kind generates one. It also identifies repetitions. */
  readonly id?: string | undefined;
  /** Identifies repetitions within the source. */
  readonly identity: string | undefined;
  readonly orderingKey?: string | undefined;
  /** Wall clock, milliseconds; the time of arrival unless the provider gives one. */
  readonly occurredAt?: number | undefined;
  /** Its own bytes if the request is split; otherwise those of the request. */
  readonly body?: Buffer | undefined;
  readonly contentType?: string | undefined;
}

export interface KindAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}
