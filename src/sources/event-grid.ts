import { Type } from "typebox";
import { HEADER_SECRET } from "../model/secrets.ts";
import { scalarTextAt } from "../model/json.ts";
import { AbuseProtectionOptions, answerPermission, jsonAnswer } from "./handshakes.ts";
import { readCloudEvents } from "./cloudevents.ts";
import {
  eventTypeOf,
  findTime,
  hashOf,
  identityOf,
  requireJson,
  queryFields,
  partsOf,
  readParts,
  rootSpan,
} from "./request-reading.ts";
import { kindOptions, textOption } from "./kind-options.ts";
import { badSignature, isOneOf } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, PushedSourceKind, ReadEvent } from "./source-kind.ts";

const VALIDATION = "Microsoft.EventGrid.SubscriptionValidationEvent";
const AZURE = ["eventgrid.azure.net"];

/**
 * learn.microsoft.com/azure/event-grid/webhook-event-delivery. Nothing is signed: the URL that Event Grid is given has
 * the secret in its query, and so has every request. Both of its schemas are understood: its own and CloudEvents.
 */
export const eventGrid: PushedSourceKind = {
  name: "event-grid",
  options: kindOptions({
    ...AbuseProtectionOptions,
    parameter: Type.Optional(
      Type.String({
        pattern: "^[A-Za-z0-9_-]{1,64}$",
        default: "code",
        description: "The URL parameter with the secret",
      }),
    ),
  }),
  needsSecret: true,
  secretForm: () => HEADER_SECRET,
  handshakeMethods: ["OPTIONS"],
  handshake(request, settings) {
    const code = request.method === "OPTIONS" ? undefined : findValidationCode(request.body);
    if (code === undefined && request.method !== "OPTIONS") return undefined;
    // Anybody who can make Event Grid send to us knows the URL with its secret.
    checkSecret(request, settings);
    if (code === undefined) return answerPermission(request, settings, AZURE);
    return jsonAnswer(JSON.stringify({ validationResponse: code }));
  },
  verify: checkSecret,
  events(request, _settings, form) {
    const { body } = request;
    const parts = form.kind === "json" ? partsOf(body, rootSpan(body)) : undefined;
    const first = parts?.[0];
    if (first === undefined || scalarTextAt(first, ["specversion"]) !== undefined) {
      return readCloudEvents("event-grid", request, form);
    }
    requireJson(form, "Event Grid");
    return readParts(parts ?? [], readEvent);
  },
};

function checkSecret(request: ArrivedRequest, settings: KindSettings): void {
  const name = textOption(settings, "parameter") ?? "code";
  const given = queryFields(request).get(name);
  if (given === null) throw badSignature(`The URL has no parameter ${name}.`);
  if (!isOneOf(given, settings.secrets)) throw badSignature(`The parameter ${name} is not a secret of this source.`);
}

/** The code of a request that is only a validation. */
function findValidationCode(body: Buffer): string | undefined {
  // Most requests do not contain this text and need not be parsed.
  if (!body.includes(VALIDATION)) return undefined;
  const [event, ...others] = partsOf(body, rootSpan(body)) ?? [];
  if (event === undefined || others.length > 0 || scalarTextAt(event, ["eventType"]) !== VALIDATION) return undefined;
  return scalarTextAt(event, ["data", "validationCode"]);
}

function readEvent(body: Buffer): ReadEvent {
  const at = (name: string) => scalarTextAt(body, [name]);
  return {
    type: eventTypeOf("event-grid", at("eventType")),
    identity: identityOf(at("topic"), at("id")) ?? identityOf(at("id")) ?? hashOf(body),
    occurredAt: findTime(at("eventTime")),
    body,
  };
}
