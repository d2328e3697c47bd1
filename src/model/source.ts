import { createHash } from "node:crypto";
import { Type, type Static, type TObject } from "typebox";
import { findRangeProblem, type IpRange } from "./addresses.ts";
import { type Pattern, isGatewayEventType, parsePattern } from "./pattern.ts";
import type { SecretForm } from "./secrets.ts";
import { SourceMask, type MaskPointer, type MaskRules } from "./masking.ts";
import { changeOf, oneOf, orNone, TenantId, texts, withDefault } from "./shape.ts";
import { isDeeperThan } from "./json.ts";
import { findFault } from "./errors.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "./event.ts";
import { checksOf, findControl, problemsOf, type FieldProblem } from "./subscription-rules.ts";

/** Words with dots between them: a name is part of event types, and with an ending the name of a file. */
export const SOURCE_NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*$";
const SOURCE_NAME_MAX_LENGTH = 64;
export const SOURCE_NAME_WORDS =
  "1 to 64 letters, digits, - and _, with single dots between them, beginning with a letter or a digit";
const SOURCE_NAME = new RegExp(SOURCE_NAME_PATTERN);

export function isSourceName(text: string): boolean {
  return text.length <= SOURCE_NAME_MAX_LENGTH && SOURCE_NAME.test(text);
}

/** Kept instead of the name when a tenant is erased, because the name must not become open. Never the name of a source. */
export function eraseSourceName(name: string): string {
  return `erased:${createHash("sha256").update(name).digest("hex")}`;
}

const RequestField = Type.String({
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
    name: Type.String({ pattern: SOURCE_NAME_PATTERN, maxLength: SOURCE_NAME_MAX_LENGTH, examples: ["partner-hooks"] }),
    kind: withDefault(
      Type.String({
        pattern: "^[a-z0-9][a-z0-9-]{0,31}$",
        description: "The kind of sender: how requests are verified, answered, split and identified",
      }),
      GENERIC_KIND as string,
    ),
    tenant_id: TenantId,
    status: withDefault(oneOf(SOURCE_STATUSES, { description: "`paused` answers 503, `closed` 410" }), "active"),
    secrets: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
        maxItems: 10,
        description: "The secrets that verify requests; all are accepted, the first is current. Never shown",
      }),
    ),
    auth: orNone(
      Type.Object(
        {
          header: Type.String({ pattern: "^[A-Za-z0-9-]{1,64}$" }),
          token: Type.String({ minLength: 1, maxLength: 4096, description: "Shown masked" }),
        },
        { additionalProperties: false },
      ),
      { description: "A header that must contain this token, else 401" },
    ),
    allowed_ips: orNone(texts(64, 1000), {
      description: "CIDR ranges that must contain the sender's address, else 403",
    }),
    max_bytes: withDefault(
      Type.Integer({
        minimum: 1,
        maximum: 67_108_864,
        description:
          "Larger bodies get 413. By default `limits.max_body_bytes`, or the maximum that the kind's provider sends",
      }),
      2_097_152,
    ),
    methods: withDefault(Type.Array(oneOf(["POST", "PUT", "PATCH", "DELETE", "GET"]), { minItems: 1 }), ["POST"]),
    content_types: orNone(texts(255, 50), {
      description: "Accepted media types (`application/json`, `text/*`), else 415",
      examples: [["application/json"]],
    }),
    answer_within: orNone(Type.Number({ minimum: 0.1, maximum: 60 }), {
      description: "Seconds within which the sender must get its answer",
    }),
    event_type: withDefault(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          "`{source}` stands for the source's name, `{type}` for the type that the kind finds in a request; for " +
          "kinds that find one the default is `{type}`",
      }),
      "webhook.{source}",
    ),
    id_from: Type.Optional(Type.With(RequestField, { examples: ["body:/id"] })),
    ordering_key_from: Type.Optional(RequestField),
    priority_from: Type.Optional(RequestField),
    only: orNone(texts(255, 200), {
      description: "Patterns of the event types that are accepted, with or without the kind's name in front",
    }),
    manifest: withDefault(
      Type.Union(
        [Type.String({ minLength: 1, maxLength: 4096 }), Type.Record(Type.String(), Type.Unknown()), Type.Null()],
        {
          description: "The document that must contain the sender's ids, or its path; only for kinds that use one",
        },
      ),
      null,
    ),
    refuse_replays: withDefault(
      Type.Boolean({
        description:
          "Requests with a signature that was seen before are ignored (`replayed`), whatever their id; for kinds " +
          "whose signature covers no id. Two webhooks with the same bytes then count as one",
      }),
      false,
    ),
    mask: withDefault(SourceMask, []),
    path_token: withDefault(
      Type.Union([Type.Boolean(), Type.String({ pattern: "^([A-Za-z0-9_-]{16,128}|\\*{3})$" }), Type.Null()], {
        description: "Webhooks are accepted only at `/webhook/NAME/TOKEN`; `true` generates a token",
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

/** Fields without another value for "none": null removes them. */
export const REMOVABLE = ["event_type", "id_from", "ordering_key_from", "priority_from"] as const;
export const SourceChange = changeOf(SourceInput.properties, ["name", "tenant_id"], REMOVABLE);
/** Fields that are not given stay as they are. */
export type SourceChange = Partial<Omit<SourceInput, "name" | "tenant_id" | Removable>> & {
  [Name in Removable]?: SourceInput[Name] | null;
};
type Removable = (typeof REMOVABLE)[number];

/** Where a value is in a request. */
export type RequestField = { in: "header"; name: string } | { in: "body"; pointer: readonly string[] };

/** The rules that are needed to declare a source of a kind; `sources/` has the rest. */
export interface SourceKindRules {
  readonly name: string;
  /** The schema of a source's `options`. Without it there are none. */
  readonly options?: TObject | undefined;
  /** Whether a source of this kind needs at least one secret to verify senders. */
  readonly needsSecret: boolean;
  /** The format of secrets, by the options of the source. Without it, the bytes of the text are the key. */
  secretForm?(options: Readonly<Record<string, unknown>>): SecretForm;
  /** Methods that the provider's handshake uses in addition to those of the source. */
  readonly handshakeMethods?: readonly string[] | undefined;
  /** JSON Pointers whose scalars `events` finds in `texts`, as they stand in the body: no number goes through a float. */
  readonly pointers?: readonly (readonly string[])[] | undefined;
  /** Secrets in the body, which are masked in what is stored and delivered. */
  readonly mask?: readonly MaskPointer[] | undefined;
  /** The patterns that are accepted if the source has no `only`. */
  readonly only?: readonly string[] | undefined;
  /**
   * The largest body that the provider sends, if it is larger than the default limit of sources: the provider may not
   * retry a body that was too large.
   */
  readonly maxBytes?: number | undefined;
  /**
   * The status of the answer when an event is queued, for kinds of any sender. Without it 200, because some providers
   * treat any other status as a failure.
   */
  readonly queuedStatus?: 202 | undefined;
  readonly replayMark?: ((...request: never[]) => string) | undefined;
  /** Set for pulled sources, which read from a queue over one of the gateway's connections. */
  readonly isPulled?: true | undefined;
  /** For pulled sources: throws `invalid_field` for settings that cannot work here, such as an unknown connection. */
  checkOptions?(options: Readonly<Record<string, unknown>>): void;
  /** Throws `invalid_field` unless a source of this kind can have it as its `manifest`. */
  checkManifest?(manifest: Readonly<Record<string, unknown>>): void;
}

/** A source in the form that the receiver uses; rebuilt when its settings change. */
export interface Source {
  name: string;
  kind: string;
  tenantId: string;
  status: SourceStatus;
  maxBytes: number;
  methods: readonly string[];
  /** Methods that only serve to verify the address of the webhook. */
  handshakeMethods: readonly string[] | undefined;
  /** With the placeholders already filled in. */
  eventType: string;
  /** The template for types that the kind finds in a request; undefined when the type is used unchanged. */
  typeTemplate: string | undefined;
  idFrom: RequestField | undefined;
  orderingKeyFrom: RequestField | undefined;
  priorityFrom: RequestField | undefined;
  /** The places to read from a body: first those of the kind, then the ones above. */
  pointers: readonly (readonly string[])[];
  only: readonly Pattern[] | undefined;
  /** How long senders wait for an answer, if that is less than a forward may take. */
  answerWithinMs?: number | undefined;
  /** The status of the answer when an event is queued. */
  queuedStatus: 200 | 202;
  /** Undefined when every request is allowed. */
  gate: SourceGate | undefined;
  /** Whether a signature that was seen before is ignored. */
  refusesReplays: boolean;
  pathToken: string | undefined;
  /** The values to mask before anything is stored. */
  mask?: MaskRules | undefined;
  /** Texts that must not appear in the stored part of a request. */
  hidden: HiddenTexts | undefined;
  /** The settings that its kind gets. */
  settings: SourceSettings;
  /** False for a name that only the `*` source accepts. */
  declared: boolean;
  /** Wall clock, milliseconds; 0 when no request came since the start. Kept in memory only. */
  lastRequestAt: number;
}

/** The checks before the body is read. */
export interface SourceGate {
  allowedIps: readonly IpRange[] | undefined;
  contentTypes: readonly string[] | undefined;
  /** The name in lower case. */
  auth: { header: string; token: string } | undefined;
}

export interface HiddenTexts {
  /** The header that carries the token, in lower case. */
  header: string | undefined;
  texts: readonly string[];
}

interface SourceSettings {
  readonly source: string;
  /** All live secrets; the first is current. */
  readonly secrets: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly manifest?: string | Readonly<Record<string, unknown>> | undefined;
}

/** Rules for a source that a JSON Schema cannot express; the API and the configuration share them. */

const EVENT_TYPE = new RegExp(EVENT_TYPE_PATTERN);
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/(\*|[a-z0-9!#$&^_.+-]+)$/;
const MAX_DEPTH = 32;
const MAX_DOCUMENT_BYTES = 256 * 1024;

export function checkSourceInput(input: SourceInput): FieldProblem[] {
  const { secrets = [] } = input;
  return problemsOf([
    ["tenant_id", findControl(input.tenant_id)],
    ["auth.token", findControl(input.auth?.token)],
    ...checksOf("secrets", secrets, findControl),
    ["secrets", new Set(secrets).size < secrets.length && "contains the same secret twice"],
    ["event_type", findTypeProblem(input)],
    ...checksOf("allowed_ips", input.allowed_ips, findRangeProblem),
    ...checksOf("content_types", input.content_types, (text) =>
      MEDIA_TYPE.test(text.toLowerCase()) ? undefined : "is not a media type; write application/json, or text/*",
    ),
    ...checksOf("only", input.only, (text) => findFault(() => parsePattern(text))?.message),
    ...checksOf("mask", input.mask, (place) => findMaskProblem(place, input)),
    ["options", findDocumentProblem(input.options)],
    ["manifest", findDocumentProblem(input.manifest)],
  ]);
}

/** Ids and ordering keys are stored unmasked, so their places cannot be masked. */
function findMaskProblem(place: string, { id_from: id, ordering_key_from: key }: SourceInput): string | undefined {
  const masked = place.startsWith("header:") ? place.toLowerCase() : `body:${place}`;
  const isWithin = (from: string | undefined) =>
    from !== undefined && (from.toLowerCase() === masked || from === masked || from.startsWith(`${masked}/`));
  if (isWithin(id)) return "is the place that id_from reads, which is stored unmasked; use another place for the id";
  return isWithin(key)
    ? "is the place that ordering_key_from reads, which is stored unmasked; use another place for the key"
    : undefined;
}

function findTypeProblem({ name, kind = GENERIC_KIND, event_type: template }: SourceInput): string | undefined {
  const asIs = (template ?? "webhook.{source}").replaceAll("{source}", name);
  if (kind === GENERIC_KIND && asIs.includes("{type}")) {
    return "contains {type}, but a generic source finds no type in a request";
  }
  const type = asIs.replaceAll("{type}", "type");
  if (!EVENT_TYPE.test(type) || type.length > EVENT_TYPE_MAX_LENGTH) {
    return "is not an event type: write words of letters, digits, _ and - with dots between them";
  }
  return isGatewayEventType(type) ? "is a type of the gateway's own events; choose another type" : undefined;
}

function findDocumentProblem(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return `is nested more than ${MAX_DEPTH} levels deep`;
  const problem = typeof value === "string" ? findControl(value) : undefined;
  const isLarge = JSON.stringify(value ?? null).length > MAX_DOCUMENT_BYTES;
  return problem ?? (isLarge ? `is larger than ${MAX_DOCUMENT_BYTES / 1024} KB` : undefined);
}
