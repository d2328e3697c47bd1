import { Type, type Static } from "typebox";
import { MASK } from "../../../domain/mask.ts";
import { fillIn, oneOf, orNull, withDefault } from "../../../domain/shape.ts";
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
      examples: ["https://erp.example.com/hooks"],
    }),
    format: withDefault(
      oneOf(["auto", "envelope", "raw", "cloudevents"], {
        description:
          "`auto`: raw for received webhooks, an envelope for published events; `cloudevents`: 1.0, structured JSON",
      }),
      "auto",
    ),
    signature_header: withDefault(Type.String({ pattern: "^[A-Za-z0-9-]{1,64}$" }), "X-Webhook-Signature"),
    retry_on: Type.Optional(
      Type.Object(
        {
          statuses: Type.Optional(Type.Array(Type.Integer({ minimum: 200, maximum: 599 }), { maxItems: 50 })),
          body_contains: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
        },
        { additionalProperties: false, description: "More answers that count as failures to retry" },
      ),
    ),
    headers: withDefault(
      orNull(Type.Record(Type.String(), Type.String({ maxLength: 4096 }), { maxProperties: 50 }), {
        description:
          "Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back " +
          "stands for what is stored",
      }),
      {},
    ),
    health_url: withDefault(
      orNull(Type.String({ minLength: 1, maxLength: 2048 }), {
        description: 'Answers 2xx and `{"status":"ok"}` while the destination is well; asked every minute',
      }),
      null,
    ),
    allowed_ips: withDefault(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 100 }), {
        description: "CIDRs that the destination's address must lie in; never opens a private network",
      }),
      null,
    ),
    auth: withDefault(orNull(DestinationAuthInput, { description: AUTH_DESCRIPTION }), null),
    forward_headers: withDefault(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 100 }), {
        description: "With `forward`: headers of the request that are handed on; `*` for the usual ones, the default",
      }),
      null,
    ),
    allow_own_url: withDefault(
      Type.Boolean({ description: "Let `url` lead back to this gateway; what goes round is refused after 8 times" }),
      false,
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

function toHttpDestination(settings: HttpSettings, { shared, target }: DestinationFacts): HttpDestination {
  const preset = presetSettings({ target: shared.target, retry_on: settings.retry_on }, target);
  const set = fillIn(HttpSettings.properties, settings);
  return {
    url: set.url,
    format: set.format,
    signatureHeader: set.signature_header,
    retryOn: {
      statuses: set.retry_on?.statuses ?? [],
      sourceStatuses: preset.sourceStatuses,
      bodyContains: set.retry_on?.body_contains,
      bodyIs: preset.retryBody,
    },
    headers: set.headers ?? {},
    allowedIps: set.allowed_ips ?? undefined,
    auth: toDestinationAuth(set.auth),
    forwardHeaders: set.forward_headers?.map((name) => name.toLowerCase()),
    allowOwnUrl: set.allow_own_url,
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

/** All of them, also those that were not set. Which headers are credentials, only the destination knows. */
export function presentHttp(settings: HttpSettings): Record<string, unknown> {
  return fillIn(
    HttpSettings.properties,
    HTTP_SECRETS.mask(settings, () => MASK),
  );
}
