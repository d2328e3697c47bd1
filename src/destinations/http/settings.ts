import { Type, type Static } from "typebox";
import { MASK } from "../../model/secrets.ts";
import { fillIn, oneOf, orNull, withDefault } from "../../model/shape.ts";
import type { HealthPlace } from "../../model/target.ts";
import { findHealth, findPreset, presetSettings, isPresetName } from "../../model/target-rules.ts";
import type { DestinationFacts, PreparedDestination, DestinationKind } from "../destination-kind.ts";
import { REQUEST_SETTINGS, checkDestinationAuth, checkOwnHeaders, DestinationAuthInput } from "../request-settings.ts";
import { namedCredentials, findForwardedHeaderProblem } from "../forward.ts";
import { neededBy } from "../templated.ts";
import { PRESET_NAMES } from "./presets.ts";
import {
  prepareTemplates,
  RequestTemplate,
  expandUrl,
  checkTemplates,
  findTemplateProblem,
  templatesOf,
} from "./request-templates.ts";
import { createUrlSecrets } from "../secret-settings.ts";
import { checkAllowedIps } from "../../model/addresses.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { SharedSettings } from "../../model/subscription.ts";
import { findSignatureHeaderProblem } from "../outgoing-header.ts";
import { type HttpDestination, presentHttpRecord } from "./request.ts";

/** The settings of a destination of the kind http. */
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
    retry_on: REQUEST_SETTINGS.retry_on,
    give_up_on: withDefault(
      orNull(Type.Array(Type.Integer({ minimum: 300, maximum: 599 }), { minItems: 1, maxItems: 50 }), {
        description:
          "Statuses after which a delivery is a dead letter at once. With `mode: forward` all answers except successes " +
          "are retried without it",
        examples: [[422]],
      }),
      null,
    ),
    headers: REQUEST_SETTINGS.headers,
    health_url: withDefault(
      orNull(Type.String({ minLength: 1, maxLength: 2048 }), {
        description:
          'A URL that answers 2xx and `{"status":"ok"}` while the destination is healthy; checked every minute',
      }),
      null,
    ),
    allowed_ips: REQUEST_SETTINGS.allowed_ips,
    auth: REQUEST_SETTINGS.auth,
    forward_headers: withDefault(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 100 }), {
        description: "With `forward`: headers of the request that are passed on; `*` means the usual ones, the default",
      }),
      null,
    ),
    preset: withDefault(
      orNull(oneOf(PRESET_NAMES), {
        description: "Sends a chat message instead of the event: `url` is a webhook of that chat",
      }),
      null,
    ),
    template: withDefault(orNull(RequestTemplate), null),
    handshake: withDefault(
      orNull(oneOf(["cloudevents"]), {
        description:
          "`cloudevents`: nothing is sent before the destination has answered an OPTIONS request with its permission for this " +
          "gateway and a rate per minute",
      }),
      null,
    ),
    allow_own_url: REQUEST_SETTINGS.allow_own_url,
  },
  { additionalProperties: false },
);
export type HttpSettings = Static<typeof HttpSettings>;

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
      giveUpOn: set.give_up_on ?? [],
      allOthers: shared.mode === "forward",
      emptyStatuses: preset.emptyStatuses,
    },
    headers: set.headers ?? {},
    allowedIps: set.allowed_ips ?? undefined,
    auth: set.auth ?? undefined,
    forwardHeaders: set.forward_headers?.map((name) => name.toLowerCase()),
    allowOwnUrl: set.allow_own_url,
    maxBytes: preset.maxBytes,
    templates: prepareTemplates(set),
    needsPermission: set.handshake === "cloudevents",
    wantsPlainJson: preset.wantsPlainJson,
  };
}

function prepareHttp(settings: HttpSettings, facts: DestinationFacts): PreparedDestination {
  const { shared, target } = facts;
  const destination = toHttpDestination(settings, facts);
  return {
    destination,
    place: settings.url,
    health: findOwnHealth(settings, shared.target),
    retryPolicy: presetSettings({ target: shared.target, retry_on: settings.retry_on }, target).retryPolicy,
    signatureHeader: destination.signatureHeader,
    needs: destination.templates && neededBy(destination.templates.list),
    credentials: shared.mode === "forward" ? namedCredentials(destination.forwardHeaders) : undefined,
    forwardHeaders: shared.mode === "forward" ? destination.forwardHeaders : undefined,
  };
}

function findOwnHealth(settings: HttpSettings, target: string | null | undefined): HealthPlace | undefined {
  return findHealth(settings.health_url, findPreset(target), settings.url);
}

/**
 * All settings, also those that were not given. All header values are hidden: only the destination knows which are
 * credentials.
 */
function presentHttp(settings: HttpSettings): Record<string, unknown> {
  return fillIn(
    HttpSettings.properties,
    HTTP_SECRETS.mask(settings, () => MASK),
  );
}

const HTTP_SECRETS = createUrlSecrets<HttpSettings>("", (url) => expandUrl(url, "source"));

function checkHttpSettings(settings: HttpSettings, shared: SharedSettings): FieldProblem[] {
  return [
    ...checkHeaders(settings),
    ...checkAllowedIps(settings.allowed_ips, settings.url),
    ...checkDestinationAuth(settings.auth, settings.headers ?? {}),
    ...checkUrl(settings),
    ...checkForwardHeaders(settings),
    ...checkGiveUpOn(settings),
    ...checkAgent(settings, shared),
    ...checkTemplates(settings, shared),
  ];
}

function checkUrl({ url }: HttpSettings): FieldProblem[] {
  const message = findTemplateProblem(url);
  return message === undefined ? [] : [{ field: "url", message }];
}

function checkForwardHeaders({ forward_headers: names }: HttpSettings): FieldProblem[] {
  return (names ?? []).flatMap((name, i) => {
    const message = findForwardedHeaderProblem(name);
    return message === undefined ? [] : [{ field: `forward_headers[${i}]`, message }];
  });
}

function checkGiveUpOn({ give_up_on: statuses, retry_on: retryOn }: HttpSettings): FieldProblem[] {
  return (statuses ?? []).flatMap((status, i) =>
    retryOn?.statuses?.includes(status) === true
      ? [{ field: `give_up_on[${i}]`, message: `${status} is in retry_on.statuses too; remove it from one of the two` }]
      : [],
  );
}

/** n8n can be configured per workflow to refuse clients that call themselves a bot. */
function checkAgent({ headers }: HttpSettings, { target }: SharedSettings): FieldProblem[] {
  if (!isPresetName(target)) return [];
  return Object.entries(headers ?? {})
    .filter(([name, value]) => name.toLowerCase() === "user-agent" && /bot/i.test(value))
    .map(([name]) => ({ field: `headers.${name}`, message: "must not contain `bot`, which n8n refuses" }));
}

function checkHeaders(settings: HttpSettings): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const signatureHeader = settings.signature_header?.toLowerCase();
  const signatureProblem = signatureHeader === undefined ? undefined : findSignatureHeaderProblem(signatureHeader);
  if (signatureProblem !== undefined) problems.push({ field: "signature_header", message: signatureProblem });
  return [...problems, ...checkOwnHeaders(settings.headers, signatureHeader)];
}

/** Webhooks: a signed request for each delivery. */
export const HTTP: DestinationKind<HttpSettings> = {
  name: "http",
  settings: HttpSettings,
  isFlat: true,
  canForward: true,
  healthSettings: ["health_url"],
  check: checkHttpSettings,
  templatesOf,
  prepare: prepareHttp,
  secrets: HTTP_SECRETS,
  present: presentHttp,
  named: { DestinationAuth: DestinationAuthInput, RequestTemplate },
  presentRecord: presentHttpRecord,
};
