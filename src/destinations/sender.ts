import type { TObject, TSchema } from "typebox";
import type { EventContent } from "../model/event.ts";
import type { HealthPlace, TargetInput } from "../model/target.ts";
import type { Outcome } from "../model/outcome.ts";
import type { FieldProblem } from "../model/subscription-rules.ts";
import type { NeededParts, RetryPolicySpec, SharedSettings, Subscription } from "../model/subscription.ts";
import type { TokenBucket } from "../model/token-bucket.ts";
import type { Trace } from "../model/trace-context.ts";
import type { Template } from "../sandbox/templates/templates.ts";
import type { SenderServices } from "./services.ts";

/**
 * A kind of destination: its settings, how they are checked, hidden and shown, and its sender. All knowledge about one
 * kind is behind this port; `kinds.ts` lists the kinds.
 */
export interface DestinationKind<Settings extends object = object> {
  /** The value of `kind`. */
  readonly name: string;
  /** The schema of its settings. */
  readonly settings: TObject;
  /**
   * The settings are beside those that all kinds share, not in `destination`. Only for http, whose settings were there
   * before kinds existed.
   */
  readonly isFlat?: boolean;
  /** The sender of a webhook can wait for such a delivery (`mode: forward`). */
  readonly canForward?: boolean;
  /** The kind reaches systems of the gateway's operator: only keys that are bound to no tenant may configure it. */
  readonly isForOperators?: boolean;
  /** The same for destinations that have one of these settings. */
  readonly operatorSettings?: readonly string[];
  /** Delivered messages wait there to be taken: the kind can be the fallback of a forward. */
  readonly isQueue?: boolean;
  /**
   * Whether the messages that wait there can be counted, by the settings or what was prepared from them; they can when
   * not given.
   */
  isCountable?(destination: object): boolean;
  /** For a queue: the size of the largest message, by its settings; undefined when events of any size go there. */
  maxBytesOf?(settings: object): number | undefined;
  /** Settings that name the health check. They belong to the target when several subscriptions share one. */
  readonly healthSettings?: readonly string[];
  /** Rules that a schema cannot express. Fields are named as in the settings. */
  check(settings: Settings, shared: SharedSettings): FieldProblem[];
  /** The templates in the settings; checked before they are saved. Named as in `check`. */
  templatesOf?(settings: Settings): readonly Template[];
  /** Prepares valid settings for the sender; called once for each version of a subscription. */
  prepare(settings: Settings, facts: DestinationFacts): PreparedDestination;
  readonly secrets: SettingsSecrets<Settings>;
  /** The settings as they are shown: complete, with defaults, and without secrets. */
  present(settings: Settings): Record<string, unknown>;
  /** For the API reference: parts of the settings that have a name of their own. */
  readonly named?: Readonly<Record<string, TSchema>>;
  /** Presents a stored record to users, as the members that it adds to an attempt. */
  presentRecord(record: AttemptRecordPart, of: RecordedAttempt): Record<string, unknown>;
  open(services: SenderServices): Sender<Settings>;
}

/** What a kind gets to know about a subscription besides its settings. */
export interface DestinationFacts {
  readonly shared: SharedSettings;
  /** The target that the subscription shares with others. */
  readonly target: TargetInput | undefined;
}

export interface PreparedDestination {
  /** Read only by the sender of the kind. */
  readonly destination: unknown;
  /** Where deliveries go, in one line for the log: a URL for most kinds. At most its host is shown to outsiders. */
  readonly place: string;
  /** The exchange or queue that deliveries go to, as `model/connection.ts` writes it. */
  readonly queuePlace?: string | undefined;
  /** The health check of the subscription's own target; without one, a delivery is the probe. */
  readonly health?: HealthPlace | undefined;
  /** Used when the subscription names none. */
  readonly retryPolicy?: RetryPolicySpec | undefined;
  /** The header that carries the signature, if there is one. */
  readonly signatureHeader?: string | undefined;
  /** The parts of an event that the sender needs besides its content; a forwarding sender always gets the request. */
  readonly needs?: NeededParts | undefined;
  /** The names of headers with credentials that are passed on from a webhook's request. */
  readonly credentials?: readonly string[] | undefined;
  /** The names of all headers that a forward passes on; the usual ones when not given. */
  readonly forwardHeaders?: readonly string[] | undefined;
}

/** The secrets in the settings: encrypted in the store, never shown, and meant for one place only. */
export interface SettingsSecrets<Settings extends object = object> {
  /** Separates the secrets from the rest; undefined when there are none. */
  hide(settings: Settings): { shown: Settings; hidden: unknown } | undefined;
  reveal(shown: Settings, hidden: unknown): Settings;
  /** Only the settings that were given, with each secret replaced by `maskValue`. */
  mask(settings: Settings, maskValue: (secret: string) => string): Settings;
  /** A masked value that a client sends back stands for the stored one. */
  restore(given: Partial<Settings>, stored: Settings): Partial<Settings>;
  /**
   * The name on the wire of a stored secret that stays without being given again. `isWhole`: settings that are not
   * given are removed, and their secrets with them.
   */
  findCarried(given: Partial<Settings>, stored: Settings, isWhole: boolean): string | undefined;
  /** Throws when a stored secret would be sent to another place only because the place changed. */
  refuseCarried(given: Partial<Settings>, stored: Settings, isWhole: boolean): void;
}

/** One attempt for one delivery: everything that a sender needs to know. */
export interface Attempt {
  deliveryId: string;
  /** From 1; continues over replays. */
  number: number;
  /** 1, plus one for each replay. */
  generation: number;
  event: EventContent;
  /** JSON of the received request; only for webhooks, and only when it is needed. */
  request?: string | undefined;
  /** JSON of the publisher's further details; only when they are needed. */
  details?: string | undefined;
  /** The records of earlier attempts, the last one last; only when they are needed. */
  earlier?: readonly AttemptRecordPart[] | undefined;
  subscription: Subscription;
  /** The span of this attempt when spans are recorded; otherwise a span id is derived from the attempt's ids. */
  trace?: Trace | undefined;
}

/** The result of an attempt for one delivery. */
export interface AttemptReport {
  outcome: Outcome;
  /** Unix ms (`Clock.wall`). */
  startedAt: number;
  durationMs: number;
  record: AttemptRecordPart;
}

/**
 * What else is stored for an attempt: a record of its kind, in the columns that the store has for it. Only the kind
 * knows their meaning. Secrets are masked.
 */
export interface AttemptRecordPart {
  /** Where the attempt went. */
  url: string | undefined;
  /** The IP address connected to, when a connection was made. */
  address: string | undefined;
  /** Undefined or empty when nothing was sent. */
  requestHeaders: string | undefined;
  responseCode: number | undefined;
  /** A JSON object. */
  responseHeaders: string | undefined;
  /** At most 8 KB. */
  responseBody: Uint8Array | undefined;
}

/** A request as it would be sent: signed, but without the gateway's credentials for the destination. */
export interface RequestPreview {
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** The attempt that a record belongs to. */
export interface RecordedAttempt {
  deliveryId: string;
  eventId: string;
  eventType: string;
  number: number;
  startedAt: number;
}

/** How many deliveries one attempt sends, and how fast attempts may follow each other. */
export interface BatchLimits {
  readonly maxBatch: number;
  /** How long an incomplete batch waits for more deliveries. */
  readonly lingerMs: number;
  /** A rate limit that several lanes share; each attempt takes one token. */
  readonly sharedRate?: Pick<TokenBucket, "readyAt" | "available" | "take"> | undefined;
  /** Maximum size of all bodies in a batch; a larger body is sent alone. No limit when not given. */
  readonly maxBytes?: number | undefined;
  /**
   * Maximum number of attempts in flight, when this is lower than the subscription's `concurrency`. With 1, deliveries
   * are sent in the order of their events as long as none fails.
   */
  readonly maxInFlight?: number | undefined;
  /**
   * The subscription is ordered, and the sender sends a batch in the order given and nothing behind a delivery that
   * stays in its ordering key: so a batch may hold several of one key. Needs `maxInFlight` 1.
   */
  readonly keepsOrder?: boolean | undefined;
}

/** Each delivery is an attempt of its own. */
export const ONE_BY_ONE: BatchLimits = Object.freeze({ maxBatch: 1, lingerMs: 0 });

/** Whether a destination has agreed to get deliveries. */
export type Handshake =
  /** Not asked or not answered yet: the destination is asked before the next attempt. */
  | { readonly status: "pending" }
  | { readonly status: "accepted"; readonly answeredAt: number }
  | { readonly status: "refused"; readonly answeredAt: number; readonly error: string };

/** Makes attempts for destinations of one kind. */
export interface Sender<Settings extends object = object> {
  /**
   * Whether the configuration reserves the kind for the operator: only keys that are bound to no tenant may configure
   * it.
   */
  readonly isForOperators?: boolean;
  limitsOf(subscription: Subscription): BatchLimits;
  /**
   * Makes one attempt at one destination for 1..`maxBatch` deliveries of one lane and reports on each, in the order
   * given. Calls `done` exactly once, within the subscription's timeout plus one second. Never throws, and never
   * reports a failure of the destination as an exception. Uses a callback instead of a promise because this is the most
   * frequent call of all.
   */
  send(attempts: readonly Attempt[], done: (reports: readonly AttemptReport[]) => void): void;
  /** The request that an attempt would send, for kinds that send requests; nothing is sent. */
  preview?(attempt: Attempt): Promise<RequestPreview | { problem: string }>;
  /**
   * Throws or rejects when these settings must not be used on this gateway, for example because of a private address.
   */
  refuse?(settings: Settings): void | Promise<void>;
  /** Warnings about valid settings whose effect their owner may not expect, as sentences. */
  warnOf?(settings: Settings): readonly string[];
  /**
   * A subscription was created or changed: asks its destination for permission now, if it needs one, so that the owner
   * sees the answer before the first attempt. Never throws.
   */
  beginHandshake?(subscription: Subscription): void;
  /** The destination's answer; undefined when it is not asked. */
  handshakeOf?(subscription: Subscription): Handshake | undefined;
  /** Asks whether a target is healthy. Calls `done` once, with the problem or with undefined. */
  checkHealth?(place: HealthPlace, owner: string, done: (error: string | undefined) => void): void;
  /**
   * How many delivered messages are still in the queue; undefined when this cannot be known. Rejects while the broker
   * cannot be reached.
   */
  countWaiting?(subscription: Subscription): Promise<number | undefined>;
  /** Whether somebody may hold messages that this number does not include. */
  mayHoldMore?(subscription: Subscription): boolean;
  /** Stops all attempts in flight (reported with the result `error`) and frees all resources. */
  close(): Promise<void>;
}
