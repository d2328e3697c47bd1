import { Type, type Static } from "typebox";
import { FILTER_LIMITS, type Filter } from "./filter.ts";
import { oneOf, orNull, TenantId, withDefault, writeOnly } from "./shape.ts";
import { MAX_SECRET_LENGTH, MIN_SECRET_LENGTH } from "./signature.ts";
import type { SuspensionRules } from "./suspension.ts";
import { TargetThresholds, type TargetRules } from "./target.ts";

/** Of a subscription that names none. */
export const DEFAULT_KIND = "http";

export const SUBSCRIPTION_STATUSES = ["active", "inactive", "suspended"] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

export const RETRY_POLICY_NAMES = ["standard", "dairy", "proxy", "smartsheet"] as const;
/** Waits in seconds between one attempt and the next. */
export const RetryDelays = Type.Array(Type.Number({ minimum: 0, maximum: 604_800 }), { maxItems: 100 });

const RetryPolicySpec = Type.Union(
  [oneOf(RETRY_POLICY_NAMES), Type.Object({ delays_s: RetryDelays }, { additionalProperties: false })],
  { description: "A named policy, or the waits in seconds between one attempt and the next", examples: ["standard"] },
);
export type RetryPolicySpec = Static<typeof RetryPolicySpec>;

/** Where only one of `retry_count` and `retry_interval` is given. */
export const USUAL_RETRIES = { count: 3, intervalS: 60 };

/** What may be set whatever the kind of destination is, in the API and in posthorn.yaml alike. */
export const SharedSettings = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      description: "A name for people; unique per tenant",
      examples: ["ERP"],
    }),
    tenant_id: TenantId,
    kind: withDefault(
      Type.String({ minLength: 1, maxLength: 64, description: "The kind of destination" }),
      DEFAULT_KIND,
    ),
    destination: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: `The settings of its kind; those of \`${DEFAULT_KIND}\` stand beside the others instead`,
      }),
    ),
    events: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      maxItems: 200,
      description:
        "Topic patterns: `*` is one word, `#` any number of words; a lone `*` means everything. None for the `fallback` " +
        "of another subscription, and for nothing else",
      examples: [["order.*"]],
    }),
    sources: withDefault(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 200 }), {
        description: "Patterns of the names of sources whose events are meant; null for all",
      }),
      null,
    ),
    event_filter: withDefault(
      Type.Union(
        [Type.Record(Type.String(), Type.Unknown()), Type.String({ maxLength: FILTER_LIMITS.maxLength }), Type.Null()],
        {
          description: "Which of these events: conditions on `data`, `headers` and so on, as an object or as JSON text",
        },
      ),
      null,
    ),
    status: withDefault(
      oneOf(["active", "inactive"], { description: "`inactive` holds deliveries until it is `active` again" }),
      "active",
    ),
    secret: writeOnly(
      Type.String({
        minLength: MIN_SECRET_LENGTH,
        maxLength: MAX_SECRET_LENGTH,
        description:
          "`whsec_` and base64 of 24 to 64 bytes, or a text of 16 to 128 printable characters that the receiver has " +
          "already; generated when not given; shown only in the answer",
      }),
    ),
    ed25519: withDefault(
      Type.Boolean({ description: "Sign with a key pair too (`v1a` of Standard Webhooks); the public key is shown" }),
      false,
    ),
    retry_policy: Type.Optional(RetryPolicySpec),
    retry_count: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: "Retries after the first try" })),
    retry_interval: Type.Optional(
      Type.Number({ minimum: 0, maximum: 604_800, description: "Seconds between tries, with `retry_count`" }),
    ),
    timeout: withDefault(Type.Number({ minimum: 1, maximum: 300, description: "Seconds per attempt" }), 30),
    rate_limit: withDefault(
      orNull(Type.Integer({ minimum: 1, maximum: 1_000_000 }), {
        description: "Attempts per minute; null for no limit",
      }),
      null,
    ),
    concurrency: withDefault(
      Type.Integer({ minimum: 1, maximum: 1000, description: "Attempts in flight at once" }),
      32,
    ),
    ordered: withDefault(Type.Boolean({ description: "Strict first-in-first-out for each ordering key" }), false),
    on_dead_head: withDefault(
      oneOf(["block", "skip"], { description: "What the followers of a dead letter do in an ordered subscription" }),
      "block",
    ),
    max_age_s: withDefault(
      orNull(Type.Integer({ minimum: 1, maximum: 31_536_000 }), {
        description: "Older deliveries become dead letters (`expired`)",
      }),
      null,
    ),
    target: withDefault(
      orNull(Type.String({ minLength: 1, maxLength: 64 }), {
        description: "A preset (`n8n`), or the name of a target that it shares with others; else it is its own",
      }),
      null,
    ),
    ...TargetThresholds,
    suspend_after_dead: Type.Optional(
      orNull(Type.Integer({ minimum: 1, maximum: 1_000_000 }), {
        description:
          "Suspended when more deliveries than this die in a row; null for never. 10, or null with a health check or " +
          "`mode: forward`",
        examples: [10],
      }),
    ),
    suspend_after_s: Type.Optional(
      orNull(Type.Number({ minimum: 1, maximum: 31_536_000 }), {
        description:
          "Suspended after so many seconds in QUEUE; null for never. 259200 (72 h), or null with a health check or " +
          "`mode: forward`",
        examples: [259_200],
      }),
    ),
    resume_when_healthy: withDefault(
      Type.Boolean({
        description: "Suspended because it was out of reach, it goes on when its health check finds it well",
      }),
      true,
    ),
    labels: withDefault(
      Type.Record(Type.String(), Type.String({ maxLength: 255 }), {
        maxProperties: 50,
        description: "Names and values for people and programs to find it by",
      }),
      {},
    ),
    mode: withDefault(
      oneOf(["queue", "forward"], {
        description:
          "`forward`: whoever sends a webhook waits for the first attempt; sub-path, query and method are handed on",
      }),
      "queue",
    ),
    fallback: withDefault(
      orNull(Type.String({ minLength: 1, maxLength: 200 }), {
        description:
          "With `mode: forward` and a health check: the name of a subscription that leads to a queue. While the target is " +
          "in QUEUE, and when a forward fails that somebody waits for, the event goes there instead",
        examples: ["home-queue"],
      }),
      null,
    ),
    drain_within_s: withDefault(
      Type.Number({
        minimum: 0,
        maximum: 604_800,
        description:
          "With `fallback`: after so many seconds of good health the target is in NORMAL again although the queue was not " +
          "seen empty; never where it is `ordered`",
      }),
      600,
    ),
    description: Type.Optional(Type.String({ maxLength: 2000 })),
  },
  { additionalProperties: false },
);
export type SharedSettings = Static<typeof SharedSettings>;

/** All that a user may set: beside what is shared, the settings of a kind that has them there. */
export type SubscriptionInput = SharedSettings & Readonly<Record<string, unknown>>;

/** Parts of an event that only some senders look at. */
export interface NeededParts {
  /** The request that it came with. */
  readonly request: boolean;
  /** What else its publisher said. */
  readonly details: boolean;
  /** What was kept of the attempts before. */
  readonly earlier?: boolean | undefined;
}

/** A subscription as the engine uses it: defaults filled in, the secret in clear, in memory only. */
export interface Subscription {
  /** The store's own number for it; the key of its lane. */
  seq: number;
  /** Of its record: what an ETag is made of. */
  version: number;
  id: string;
  tenantId: string;
  name: string;
  /** Of its destination. */
  kind: string;
  /** What its kind has made of the settings: only the sender of that kind looks into it. */
  destination: unknown;
  /** Where it goes, in one line for the log: a URL, for most. Outsiders are told its host at most. */
  place: string;
  /** Where that is an exchange or a queue: what came from there is not sent back. */
  queuePlace?: string | undefined;
  events: readonly string[];
  /** Patterns of the names of sources; all of them when not given. */
  sources?: readonly string[] | undefined;
  filter: Filter | undefined;
  status: SubscriptionStatus;
  /** Why nothing is sent whatever its status is: this release does not know its kind. */
  heldBecause?: string | undefined;
  /** Which header carries the signature, where there is one. */
  signatureHeader?: string | undefined;
  /** The live ones. The first is current; the seed's header is made with it. */
  secrets: readonly string[];
  /** The one among them that a rotation brought and nobody has confirmed. */
  nextSecret?: string | undefined;
  /** The private key, when deliveries are also signed with one. */
  ed25519Key?: string | undefined;
  retryPolicy: RetryPolicySpec;
  timeoutMs: number;
  rateLimitPerMinute: number | undefined;
  concurrency: number;
  ordered: boolean;
  onDeadHead: "block" | "skip";
  maxAgeMs: number | undefined;
  /** The usual ones when not given. */
  suspension?: SuspensionRules | undefined;
  /** `forward`: the first attempt is awaited by the sender, and its request is handed on. */
  mode?: "queue" | "forward" | undefined;
  /** The name of the subscription that events go to while its target is down; only where it forwards. */
  fallback?: string | undefined;
  /** How long that may take to be empty again; as usual when not given. */
  drainWithinMs?: number | undefined;
  /** What its sender needs of an event beyond its content. */
  needs?: NeededParts | undefined;
  /** Credentials of a webhook's request that it hands on: headers by their names, in lower case. */
  credentials?: readonly string[] | undefined;
  /** The name of the target that it shares with others. */
  sharedTarget?: string | undefined;
  /** Of its own target, when they are not the usual ones. */
  targetRules?: TargetRules | undefined;
  description: string | undefined;
  managedBy: ManagedBy;
  /** The id of the key that made it; `config` when that key, or the subscription itself, stands there. */
  createdBy?: string | undefined;
  createdAt: number;
  updatedAt: number;
}

/**
 * Who may change a thing: the API, or the configuration file; once it left the file, the API again. A subscription of a
 * tenant's contact is changed with the tenant.
 */
export type ManagedBy = "api" | "config" | "former_config" | "contact";
