import type { Clock } from "../model/clock.ts";
import type { EventContent } from "../model/event.ts";
import type { KindRecord, Outcome } from "../model/outcome.ts";
import type { TlsMode } from "../model/mail.ts";
import type { Subscription } from "../model/subscription.ts";
import type { HealthPlace } from "../model/target.ts";
import type { TokenBucket } from "../model/token-bucket.ts";
import type { Trace } from "../model/trace-context.ts";
import type { Connections } from "../queues/connections.ts";
import type { Templates } from "../sandbox/templates/templates.ts";
import type { HttpClient } from "./wire/http.ts";

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
  earlier?: readonly KindRecord[] | undefined;
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
  record: KindRecord;
}

/** A request as it would be sent: signed, but without the gateway's credentials for the destination. */
export interface RequestPreview {
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
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

/** Makes attempts for destinations of one kind. What not every kind can do is in groups of its own. */
export interface Sender<Settings extends object = object> {
  limitsOf(subscription: Subscription): BatchLimits;
  /**
   * Makes one attempt at one destination for 1..`maxBatch` deliveries of one lane and reports on each, in the order
   * given. Calls `done` exactly once, within the subscription's timeout plus one second. Never throws, and never
   * reports a failure of the destination as an exception. Uses a callback instead of a promise because this is the most
   * frequent call of all.
   */
  send(attempts: readonly Attempt[], done: (reports: readonly AttemptReport[]) => void): void;
  /** What valid settings mean on this gateway. */
  readonly rules?: {
    /** The configuration reserves the kind for the operator: only keys that are bound to no tenant may configure it. */
    readonly isForOperators?: boolean;
    /** Throws or rejects when the settings must not be used here, for example because of a private address. */
    check(settings: Settings): void | Promise<void>;
    /** Warnings about settings whose effect their owner may not expect, as sentences. */
    warnOf?(settings: Settings): readonly string[];
  };
  /** For kinds that ask a destination for its permission. */
  readonly handshakes?: {
    /**
     * A subscription was created or changed: asks its destination now, if it needs a permission, so that the owner sees
     * the answer before the first attempt. Never throws.
     */
    begin(subscription: Subscription): void;
    /** The destination's answer; undefined when it is not asked. */
    find(subscription: Subscription): Handshake | undefined;
  };
  /** For queues. */
  readonly queue?: {
    /** How many messages are still in the queue, if this can be known. Rejects while there is no connection. */
    countWaiting(subscription: Subscription): Promise<number | undefined>;
    /** Whether somebody may hold messages that this number does not include. */
    mayHoldMore(subscription: Subscription): boolean;
  };
  /** The request that an attempt would send, for kinds that send requests; nothing is sent. */
  preview?(attempt: Attempt): Promise<RequestPreview | { problem: string }>;
  /** Asks whether a target is healthy. Calls `done` once, with the problem or with undefined. */
  checkHealth?(place: HealthPlace, owner: string, done: (error: string | undefined) => void): void;
  /** Stops all attempts in flight (reported with the result `error`) and frees all resources. */
  close(): Promise<void>;
}

export type OpenSender<Settings extends object = object> = (services: SenderServices) => Sender<Settings>;

/** What the gateway provides to senders. */
export interface SenderServices {
  clock: Clock;
  /** The guarded client. It is closed together with the sender of the kind http. */
  client: HttpClient;
  userAgent: string;
  /** The public name of this gateway: a DNS name, possibly with a port. */
  publicHost: string;
  /** Throws for a URL that must not be reached. */
  checkUrl: (url: string, field: string) => void;
  /** Returns why a URL may not be used because it leads back to this gateway. */
  findOwnUrlProblem: (url: string) => string | undefined;
  openCredentials: OpenCredentials;
  /** The subscription that has this one as its fallback. */
  findForward: (fallback: Subscription) => Subscription | undefined;
  /** Connections to brokers. They outlive the senders. */
  connections: Connections;
  /** Encrypts credentials in messages when a destination has no key of its own. */
  messageKey?: string | undefined;
  /** The SMTP configuration; without it no e-mail is sent. */
  smtp?: SmtpConfig | undefined;
  sms?: SmsConfig | undefined;
  templates: Templates;
  /** The id of this store: messages name it as their origin. */
  origin: string;
  /** The absolute path of the folder for batches; when not given, no batches are written to files. */
  batchDir?: string | undefined;
  /** Tells the operator about a setting whose effect its owner may not expect. */
  warn: (subscription: Subscription, message: string) => void;
}

/** The credentials among the headers of a stored request, by name; empty when none were stored. */
export type OpenCredentials = (event: EventContent, sealed: string) => Readonly<Record<string, string>>;

/** The gateway's configuration for e-mail. */
export interface SmtpConfig {
  readonly url?: string | undefined;
  readonly from?: string | undefined;
  readonly tls: TlsMode;
  readonly caFile?: string | undefined;
  readonly dkimDomain?: string | undefined;
  readonly dkimSelector?: string | undefined;
  readonly dkimKey?: string | undefined;
  readonly maxConnections: number;
  readonly messagesPerConnection: number;
  /** E-mails per minute of one tenant. */
  readonly tenantRate: number;
  readonly allowTenants: boolean;
}

/** The gateway's configuration for SMS. */
export interface SmsConfig {
  readonly defaultCountry?: string | undefined;
  /** Messages per hour to one number. */
  readonly numberRate: number;
  /** Messages per minute of one tenant. */
  readonly tenantRate: number;
  readonly allowTenants: boolean;
}
