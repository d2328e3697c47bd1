import { Type, type Static } from "typebox";
import type { IpRange } from "./ip-address.ts";
import type { Pattern } from "./pattern.ts";
import type { SecretForm } from "./secret-form.ts";
import { SourceMask, type MaskRules } from "./masking.ts";
import { changeOf, oneOf, orNull, TenantId, withDefault } from "./shape.ts";

export const SOURCE_NAME_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

const Place = Type.String({
  pattern: "^(header:[A-Za-z0-9-]{1,64}|body:(/([^~/]|~[01])*)*)$",
  maxLength: 512,
  description: "`header:NAME` or `body:/json/pointer`",
});

export const GENERIC_KIND = "generic";

export const SOURCE_STATUSES = ["active", "paused", "closed"] as const;
export type SourceStatus = (typeof SOURCE_STATUSES)[number];

/** A source as a user declares it. */
export const SourceInput = Type.Object(
  {
    name: Type.String({ pattern: SOURCE_NAME_PATTERN, examples: ["partner-hooks"] }),
    kind: withDefault(
      Type.String({
        pattern: "^[a-z0-9][a-z0-9-]{0,31}$",
        description: "Who sends: says how a request is verified, answered, split and identified",
      }),
      GENERIC_KIND as string,
    ),
    tenant_id: TenantId,
    status: withDefault(oneOf(SOURCE_STATUSES, { description: "`paused` answers 503, `closed` 410" }), "active"),
    secrets: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
        maxItems: 10,
        description: "What requests are verified with; all of them count, the first is current. Never shown",
      }),
    ),
    auth: withDefault(
      orNull(
        Type.Object(
          {
            header: Type.String({ pattern: "^[A-Za-z0-9-]{1,64}$" }),
            token: Type.String({ minLength: 1, maxLength: 4096, description: "Shown masked" }),
          },
          { additionalProperties: false },
        ),
        { description: "A header that must hold this token, else 401" },
      ),
      null,
    ),
    allowed_ips: withDefault(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 1000 }), {
        description: "CIDRs that the sender's address must lie in, else 403",
      }),
      null,
    ),
    max_bytes: withDefault(
      Type.Integer({
        minimum: 1,
        maximum: 67_108_864,
        description: "Larger bodies get 413. Without it: `limits.max_body_bytes`, or what the kind's provider may send",
      }),
      2_097_152,
    ),
    methods: withDefault(Type.Array(oneOf(["POST", "PUT", "PATCH", "DELETE", "GET"]), { minItems: 1 }), ["POST"]),
    content_types: withDefault(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 50 }), {
        description: "Media types that are taken (`application/json`, `text/*`), else 415",
        examples: [["application/json"]],
      }),
      null,
    ),
    answer_within: withDefault(
      orNull(Type.Number({ minimum: 0.1, maximum: 60 }), {
        description: "Seconds in which the sender must have its answer",
      }),
      null,
    ),
    event_type: withDefault(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          "`{source}` stands for the source's name, `{type}` for the type that its kind finds; kinds that find one " +
          "have the default `{type}`",
      }),
      "webhook.{source}",
    ),
    id_from: Type.Optional(Type.With(Place, { examples: ["body:/id"] })),
    ordering_key_from: Type.Optional(Place),
    priority_from: Type.Optional(Place),
    only: withDefault(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 200 }), {
        description: "Patterns of the event types that are let through, with the kind's name in front or without",
      }),
      null,
    ),
    manifest: withDefault(
      Type.Union(
        [Type.String({ minLength: 1, maxLength: 4096 }), Type.Record(Type.String(), Type.Unknown()), Type.Null()],
        {
          description:
            "What the sender's ids must be found in: a path, or the document itself; for kinds that know one",
        },
      ),
      null,
    ),
    refuse_replays: withDefault(
      Type.Boolean({
        description:
          "An equal signature is the same request sent again under another id, and ignored (`replayed`); for kinds " +
          "whose signature covers no id. Two webhooks with the same bytes are then one",
      }),
      false,
    ),
    mask: withDefault(SourceMask, []),
    path_token: withDefault(
      Type.Union([Type.Boolean(), Type.String({ pattern: "^([A-Za-z0-9_-]{16,128}|\\*{3})$" }), Type.Null()], {
        description: "Webhooks come to `/webhook/NAME/TOKEN` only; `true` makes a token",
      }),
      null,
    ),
    options: withDefault(
      Type.Record(Type.String(), Type.Unknown(), { maxProperties: 50, description: "Settings of the kind" }),
      {},
    ),
  },
  { additionalProperties: false },
);
export type SourceInput = Static<typeof SourceInput>;

/** What has no other word for nothing: null takes it away. */
export const REMOVABLE = ["event_type", "id_from", "ordering_key_from", "priority_from"] as const;
export const SourceChange = changeOf(SourceInput.properties, ["name", "tenant_id"], REMOVABLE);
/** What is not given stays. */
export type SourceChange = Partial<Omit<SourceInput, "name" | "tenant_id" | Removable>> & {
  [Name in Removable]?: SourceInput[Name] | null;
};
type Removable = (typeof REMOVABLE)[number];

/** Where in a request a value is to be found. */
export type Place = { in: "header"; name: string } | { in: "body"; pointer: readonly string[] };

/** What is to be known of a kind in order to declare a source of it; `receive/sources/` has the rest. */
export interface SourceKindRules {
  readonly name: string;
  /** A JSON Schema of `options`; without it there are none. */
  readonly options?: object | undefined;
  readonly needsSecret: boolean;
  /** How its secrets are written, by the options of the source. Without it: as a text. */
  secretForm?(options: Readonly<Record<string, unknown>>): SecretForm;
  readonly handshakeMethods?: readonly string[] | undefined;
  readonly pointers?: readonly (readonly string[])[] | undefined;
  readonly only?: readonly string[] | undefined;
  /** What the provider may send, where it says so and that is much. */
  readonly maxBytes?: number | undefined;
  readonly replayMark?: ((...request: never[]) => string) | undefined;
  /** It is pulled: we take from a queue, over a connection that belongs to the gateway. */
  readonly pull?: { check?(options: Readonly<Record<string, unknown>>): void } | undefined;
  /** Throws `invalid_field` with the reason. */
  checkManifest?(manifest: Readonly<Record<string, unknown>>): void;
}

/** A source as the receiver uses it: made once, when something of it changes. */
export interface Source {
  name: string;
  kind: string;
  tenantId: string;
  status: SourceStatus;
  maxBytes: number;
  methods: readonly string[];
  /** Those that only ask whether this is the right place. */
  handshakeMethods: readonly string[] | undefined;
  /** Already expanded for this source. */
  eventType: string;
  /** Where the kind finds the type: what is made of it. Undefined: nothing else. */
  typeTemplate: string | undefined;
  idFrom: Place | undefined;
  orderingKeyFrom: Place | undefined;
  priorityFrom: Place | undefined;
  /** What is to be read from a body: for the kind first, then for the places above. */
  pointers: readonly (readonly string[])[];
  only: readonly Pattern[] | undefined;
  /** How long its senders wait for an answer, where that is less than a forward may take. */
  answerWithinMs?: number | undefined;
  /** Undefined: everybody may send anything. */
  gate: SourceGate | undefined;
  /** A signature that was seen already is not taken again. */
  refusesReplays: boolean;
  pathToken: string | undefined;
  /** What is replaced before anything is stored. */
  mask?: MaskRules | undefined;
  /** What must not be found in what is kept of a request. */
  hidden: HiddenTexts | undefined;
  /** What its kind is told. */
  settings: SourceSettings;
  /** Which of its secrets are none that verify anybody, and so do not count. */
  weakness: string | undefined;
  /** False for a name that only the `*` source answers to. */
  declared: boolean;
  /** Wall clock, milliseconds; 0 when none came since the start. Written in memory by whoever takes a request in. */
  lastRequestAt: number;
}

/** What is looked at before the body is read. */
export interface SourceGate {
  /** None of what it verifies with is good enough: it takes nothing from anybody. */
  isLocked: boolean;
  allowedIps: readonly IpRange[] | undefined;
  contentTypes: readonly string[] | undefined;
  /** The name in lower case. */
  auth: { header: string; token: string } | undefined;
}

export interface HiddenTexts {
  /** The header that holds the token, in lower case. */
  header: string | undefined;
  texts: readonly string[];
}

export interface SourceSettings {
  readonly source: string;
  /** All that are live; the first is current. */
  readonly secrets: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly manifest?: string | Readonly<Record<string, unknown>> | undefined;
}
