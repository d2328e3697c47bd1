import { Type, type Static, type TSchema } from "typebox";
import { MASK } from "../../../domain/mask.ts";
import type { HealthPlace } from "../../../domain/target.ts";
import { findHealth, findPreset, presetSettings } from "../../../domain/target-presets.ts";
import type { DestinationFacts, PreparedDestination } from "../sender.ts";
import { AUTH_DESCRIPTION, type DestinationAuth, DestinationAuthInput, toDestinationAuth } from "./auth.ts";
import type { RetryOn } from "./classify.ts";
import { namedCredentials } from "../forwarded-headers.ts";
import { HTTP_SECRETS } from "./secrets.ts";

/** What may be set of a destination of the kind http. */
export const HttpSettings = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: "Where deliveries are sent; `{source}` in its path or query stands for the event's source",
    }),
    format: Type.Optional(
      Type.Union([Type.Literal("auto"), Type.Literal("envelope"), Type.Literal("raw"), Type.Literal("cloudevents")], {
        default: "auto",
        description:
          "`auto`: raw for received webhooks, an envelope for published events; `cloudevents`: 1.0, structured JSON",
      }),
    ),
    signature_header: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9-]{1,64}$", default: "X-Webhook-Signature" })),
    retry_on: Type.Optional(
      Type.Object(
        {
          statuses: Type.Optional(Type.Array(Type.Integer({ minimum: 200, maximum: 599 }), { maxItems: 50 })),
          body_contains: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
        },
        { additionalProperties: false, description: "More answers that count as failures to retry" },
      ),
    ),
    headers: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.String({ maxLength: 4096 }), { maxProperties: 50 }), Type.Null()], {
        default: {},
        description: "Sent with every attempt, but to no other origin; their values are shown to nobody",
      }),
    ),
    health_url: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 2048 }), Type.Null()], {
        default: null,
        description: 'Answers 2xx and `{"status":"ok"}` while the destination is well; asked every minute',
      }),
    ),
    allowed_ips: Type.Optional(
      Type.Union(
        [Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 100 }), Type.Null()],
        {
          default: null,
          description: "CIDRs that the destination's address must lie in; never opens a private network",
        },
      ),
    ),
    auth: Type.Optional(
      Type.Union([DestinationAuthInput, Type.Null()], {
        default: null,
        description: AUTH_DESCRIPTION,
      }),
    ),
    forward_headers: Type.Optional(
      Type.Union([Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 100 }), Type.Null()], {
        default: null,
        description: "With `forward`: headers of the request that are handed on; `*` for the usual ones, the default",
      }),
    ),
    allow_own_url: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Let `url` lead back to this gateway; what goes round is refused after 8 times",
      }),
    ),
  },
  { additionalProperties: false },
);
export type HttpSettings = Static<typeof HttpSettings>;

/** As the sender uses it: defaults filled in, in clear, in memory only. */
export interface HttpDestination {
  readonly url: string;
  readonly format: "auto" | "envelope" | "raw" | "cloudevents";
  readonly signatureHeader: string;
  readonly retryOn: RetryOn;
  readonly headers: Readonly<Record<string, string>>;
  /** CIDRs; without them any address that the guard lets through. */
  readonly allowedIps: readonly string[] | undefined;
  readonly auth: DestinationAuth | undefined;
  /** In lower case; the usual ones when not given. */
  readonly forwardHeaders: readonly string[] | undefined;
  /** Whether it may deliver to this gateway itself. */
  readonly allowOwnUrl: boolean;
  /** What is larger is not sent. */
  readonly maxBytes: number | undefined;
  /** JSON by any other name is sent as `application/json`. */
  readonly wantsPlainJson: boolean;
}

const SIGNATURE_HEADER = "X-Webhook-Signature";

function toHttpDestination(settings: HttpSettings, { shared, target }: DestinationFacts): HttpDestination {
  const preset = presetSettings({ target: shared.target, retry_on: settings.retry_on }, target);
  return {
    url: settings.url,
    format: settings.format ?? "auto",
    signatureHeader: settings.signature_header ?? SIGNATURE_HEADER,
    retryOn: {
      statuses: settings.retry_on?.statuses ?? [],
      sourceStatuses: preset.sourceStatuses,
      bodyContains: settings.retry_on?.body_contains,
      bodyIs: preset.retryBody,
    },
    headers: settings.headers ?? {},
    allowedIps: settings.allowed_ips ?? undefined,
    auth: toDestinationAuth(settings.auth),
    forwardHeaders: settings.forward_headers?.map((name) => name.toLowerCase()),
    allowOwnUrl: settings.allow_own_url ?? false,
    maxBytes: preset.maxBytes,
    wantsPlainJson: preset.wantsPlainJson,
  };
}

export function prepareHttp(settings: HttpSettings, facts: DestinationFacts): PreparedDestination {
  const { shared, target } = facts;
  const destination = toHttpDestination(settings, facts);
  return {
    destination,
    place: settings.url,
    health: findOwnHealth(settings, shared.target),
    retryPolicy: presetSettings({ target: shared.target, retry_on: settings.retry_on }, target).retryPolicy,
    signatureHeader: destination.signatureHeader,
    credentials: shared.mode === "forward" ? namedCredentials(destination.forwardHeaders) : undefined,
  };
}

function findOwnHealth(settings: HttpSettings, target: string | null | undefined): HealthPlace | undefined {
  return findHealth(settings.health_url, findPreset(target), settings.url);
}

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const HttpShown = {
  url: Type.String(),
  format: Type.Union(["auto", "envelope", "raw", "cloudevents"].map((format) => Type.Literal(format))),
  signature_header: Type.String(),
  retry_on: orNull(
    Type.Object(
      {
        statuses: Type.Optional(Type.Array(Type.Integer())),
        body_contains: Type.Optional(Type.String()),
      },
      { additionalProperties: false },
    ),
  ),
  headers: Type.Record(Type.String(), Type.String(), {
    description: "Values are masked: `***`, which sent back stands for what is stored",
  }),
  health_url: orNull(Type.String()),
  allowed_ips: orNull(Type.Array(Type.String())),
  auth: HttpSettings.properties.auth,
  forward_headers: orNull(Type.Array(Type.String())),
  allow_own_url: Type.Boolean({ description: "Whether `url` may lead back to this gateway" }),
};

/** All of them, also those that were not set. */
export function presentHttp(settings: HttpSettings): Record<string, unknown> {
  // Which headers are credentials, only the destination knows.
  const { headers, auth } = HTTP_SECRETS.mask(settings, () => MASK);
  return {
    url: settings.url,
    format: settings.format ?? "auto",
    signature_header: settings.signature_header ?? SIGNATURE_HEADER,
    retry_on: settings.retry_on ?? null,
    headers: headers ?? {},
    health_url: settings.health_url ?? null,
    allowed_ips: settings.allowed_ips ?? null,
    auth: auth ?? null,
    forward_headers: settings.forward_headers ?? null,
    allow_own_url: settings.allow_own_url ?? false,
  };
}
