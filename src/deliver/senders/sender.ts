import type { TObject, TSchema } from "typebox";
import type { EventContent } from "../../domain/event.ts";
import type { HealthPlace, TargetInput } from "../../domain/target.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { FieldProblem } from "../../domain/subscription-rules.ts";
import type { NeededParts, RetryPolicySpec, SharedSettings, Subscription } from "../../domain/subscription.ts";
import type { TokenBucket } from "../../domain/token-bucket.ts";
import type { Trace } from "../../domain/trace-context.ts";
import type { Template } from "../../templates/templates.ts";
import type { SenderServices } from "./services.ts";

/**
 * A kind of destination: what may be set of one, how that is checked, hidden and shown, and who sends there. All that
 * only this kind knows stands behind this; `kinds.ts` lists them.
 */
export interface DestinationKind<Settings extends object = object> {
  /** What stands in `kind`. */
  readonly name: string;
  /** What may be set. */
  readonly settings: TObject;
  /** Its settings stand among those that all kinds share, and not in `destination`: so were http's before there were kinds. */
  readonly isFlat?: boolean;
  /** Whoever sends a webhook can wait for it (`mode: forward`). */
  readonly canForward?: boolean;
  /** It reaches what belongs to the operator of the gateway: only keys that are bound to no tenant may configure it. */
  readonly isForOperators?: boolean;
  /** The same, where it depends on the settings. */
  isForOperatorsWith?(settings: Settings): boolean;
  /** What it takes waits there for somebody: it can be the fallback of a forward. */
  readonly isQueue?: boolean;
  /** Settings that say where its health is asked for: they are the target's, where several share one. */
  readonly healthSettings?: readonly string[];
  /** Rules that a schema cannot say. Fields have their names in the settings. */
  check(settings: Settings, shared: SharedSettings): FieldProblem[];
  /** Those among the settings; examined before they are saved. Names are fields, as in `check`. */
  templatesOf?(settings: Settings): readonly Template[];
  /** What follows from settings that are in order; made once for each version of a subscription. */
  prepare(settings: Settings, facts: DestinationFacts): PreparedDestination;
  readonly secrets: SettingsSecrets<Settings>;
  /** The settings as they are shown: whole, with what holds when nothing is said, and never a secret. */
  present(settings: Settings): Record<string, unknown>;
  /** For the API reference: parts of the settings that have names of their own. */
  readonly named?: Readonly<Record<string, TSchema>>;
  /** A kept record, for users; by the members that it adds to an attempt. */
  presentRecord(record: AttemptRecordPart, of: RecordedAttempt): Record<string, unknown>;
  open(services: SenderServices): Sender<Settings>;
}

/** What a kind is told of a subscription beside its settings. */
export interface DestinationFacts {
  readonly shared: SharedSettings;
  /** The target that it shares with others. */
  readonly target: TargetInput | undefined;
}

export interface PreparedDestination {
  /** For the sender of the kind, and for nobody else. */
  readonly destination: unknown;
  /** Where it goes, in one line for the log: a URL, for most. Outsiders are told its host at most. */
  readonly place: string;
  /** The exchange or queue that it goes to, as `domain/queue-place.ts` writes it. */
  readonly queuePlace?: string | undefined;
  /** What is asked whether its own target is well; without it a delivery is the probe. */
  readonly health?: HealthPlace | undefined;
  /** Where the subscription names none. */
  readonly retryPolicy?: RetryPolicySpec | undefined;
  /** Which header carries the signature, where there is one. */
  readonly signatureHeader?: string | undefined;
  /** What its sender needs of an event beyond its content; whoever forwards has the request anyway. */
  readonly needs?: NeededParts | undefined;
  /** Credentials of a webhook's request that it hands on: headers by their names. */
  readonly credentials?: readonly string[] | undefined;
}

/** What of the settings opens a door: it is sealed in the store, shown to nobody, and meant for one place only. */
export interface SettingsSecrets<Settings extends object = object> {
  /** Parts it from the rest; undefined when there is nothing to hide. */
  hide(settings: Settings): { shown: Settings; hidden: unknown } | undefined;
  reveal(shown: Settings, hidden: unknown): Settings;
  /** Whether an earlier release has stored it in clear. */
  isExposed?(stored: Settings): boolean;
  /** What was set and nothing else, with each secret as `maskValue` shows it. */
  mask(settings: Settings, maskValue: (secret: string) => string): Settings;
  /** Somebody sends back what he was shown: a masked value stands for the one that is stored. */
  restore(given: Partial<Settings>, stored: Settings): Partial<Settings>;
  /**
   * Throws when what opens the old place would be sent to another just because that changed. `isWhole`: what is not
   * given is taken away, and need not be asked for.
   */
  refuseCarried(given: Partial<Settings>, stored: Settings, isWhole: boolean): void;
}

/** One try of one delivery: all that a sender needs to know. */
export interface Attempt {
  deliveryId: string;
  /** From 1; goes on counting over replays. */
  number: number;
  /** 1, and one more with each replay. */
  generation: number;
  event: EventContent;
  /** JSON of the request that it came with; only of a webhook, and where it is needed. */
  request?: string | undefined;
  /** JSON of what else its publisher said; where it is needed. */
  details?: string | undefined;
  /** What was kept of the attempts before, the last one last; where it is needed. */
  earlier?: readonly AttemptRecordPart[] | undefined;
  subscription: Subscription;
  /** The span that it is, where spans are recorded; else one is made from its names. */
  trace?: Trace | undefined;
}

/** What was done for one delivery. */
export interface AttemptReport {
  outcome: Outcome;
  /** Unix ms (`Clock.wall`). */
  startedAt: number;
  durationMs: number;
  record: AttemptRecordPart;
}

/**
 * What else is kept of an attempt: a record of the kind's own, in the members that the store has for it. Only the kind
 * knows what they mean. Secrets are masked.
 */
export interface AttemptRecordPart {
  /** Where it went. */
  url: string | undefined;
  /** The IP address connected to, when a connection was made. */
  address: string | undefined;
  /** Undefined or empty when nothing was sent. */
  requestHeaders: string | undefined;
  responseCode: number | undefined;
  /** JSON of an object. */
  responseHeaders: string | undefined;
  /** At most 8 KB. */
  responseBody: Uint8Array | undefined;
}

/** A request as it would leave: signed, and without what lets the gateway in at its destination. */
export interface RequestPreview {
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** Which attempt it is that a record belongs to. */
export interface RecordedAttempt {
  deliveryId: string;
  eventId: string;
  eventType: string;
  number: number;
  startedAt: number;
  /** As it is now; undefined when it was deleted. */
  subscription: Subscription | undefined;
}

/** How many deliveries one attempt takes, and how fast they may follow each other. */
export interface BatchLimits {
  readonly maxBatch: number;
  /** How long a batch that is not full waits for more. */
  readonly lingerMs: number;
  /** A rate that several lanes have together; each attempt takes one token. */
  readonly sharedRate?: Pick<TokenBucket, "readyAt" | "available" | "take"> | undefined;
  /** Of their bodies together; one that is larger goes alone. No limit when not given. */
  readonly maxBytes?: number | undefined;
  /**
   * Attempts in flight at once, where that is fewer than the subscription's `concurrency`. With 1 deliveries go in the
   * order of their events, as long as none fails.
   */
  readonly maxInFlight?: number | undefined;
}

/** Each delivery is an attempt of its own. */
export const ONE_BY_ONE: BatchLimits = Object.freeze({ maxBatch: 1, lingerMs: 0 });

/** Whether a destination has agreed to get deliveries. */
export type Handshake =
  /** Not asked yet, or not answered: it is asked before the next attempt. */
  | { readonly status: "pending" }
  | { readonly status: "accepted"; readonly answeredAt: number }
  | { readonly status: "refused"; readonly answeredAt: number; readonly error: string };

/** Makes attempts at destinations of one kind. */
export interface Sender<Settings extends object = object> {
  /** Whether the configuration leaves it to the operator: only keys that are bound to no tenant may configure it. */
  readonly isForOperators?: boolean;
  limitsOf(subscription: Subscription): BatchLimits;
  /**
   * Makes one attempt at one destination for 1..`maxBatch` deliveries of one lane and reports on each, in the order
   * given. Calls `done` exactly once, within the subscription's timeout plus one second; never throws and never
   * reports a destination's fault as an exception. A callback and not a promise: this is the hottest call there is.
   */
  send(attempts: readonly Attempt[], done: (reports: readonly AttemptReport[]) => void): void;
  /** The request that an attempt would make, by those that make requests; nothing is sent. */
  preview?(attempt: Attempt): Promise<RequestPreview | { problem: string }>;
  /** Throws, or rejects, for settings that may not be used from here: an address of a private network, for instance. */
  refuse?(settings: Settings): void | Promise<void>;
  /** What will not be as whoever set it may think, in sentences; for settings that may be used. */
  warnOf?(settings: Settings): readonly string[];
  /**
   * A subscription was created or changed: what its destination has to agree to is asked now, so that its owner sees the
   * answer before the first attempt. Never throws.
   */
  beginHandshake?(subscription: Subscription): void;
  /** What its destination has said; undefined where it is not asked. */
  handshakeOf?(subscription: Subscription): Handshake | undefined;
  /** Asks whether a target is well. Calls `done` once, with what is wrong or with undefined. */
  checkHealth?(place: HealthPlace, owner: string, done: (error: string | undefined) => void): void;
  /**
   * How many of those that it took are still there; undefined where nobody can say. Rejects while the broker is away.
   */
  countWaiting?(subscription: Subscription): Promise<number | undefined>;
  /** Ends at once what is still in flight (reported with the result `error`) and frees what it holds. */
  close(): Promise<void>;
}
