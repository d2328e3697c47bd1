import { HEADER_SECRET } from "../model/secrets.ts";
import { AbuseProtectionOptions, answerPermission } from "./handshakes.ts";
import {
  queryFields,
  eventTypeOf,
  findTime,
  hashOf,
  identityOf,
  requireJson,
  partsOf,
  readParts,
  rootSpan,
} from "./request-reading.ts";
import { kindOptions } from "./kind-options.ts";
import { badSignature, findHeader, isOneOf } from "./signatures.ts";
import type { PushedSourceKind, ArrivedRequest, ReadEvent, Reading } from "./source-kind.ts";
import { PosthornError } from "../model/errors.ts";
import { scalarTextAt } from "../model/json.ts";
import type { WellFormed } from "../sandbox/text/body-check.ts";

/**
 * github.com/cloudevents/spec: http-webhook.md and the HTTP binding. A sender shows its token after `Bearer`, or as
 * `access_token` in the query (§3). OPTIONS needs no token: it only says who may deliver.
 */
export const cloudevents: PushedSourceKind = {
  name: "cloudevents",
  options: kindOptions(AbuseProtectionOptions),
  needsSecret: true,
  secretForm: () => HEADER_SECRET,
  handshakeMethods: ["OPTIONS"],
  handshake: (request, settings) => answerPermission(request, settings),
  verify(request, { secrets }) {
    const bearer = findHeader(request, "authorization")?.replace(/^bearer +/i, "");
    const given = [bearer, queryFields(request).get("access_token") ?? undefined].filter((one) => one !== undefined);
    if (given.length === 0) throw badSignature("There is neither a bearer token nor an access_token.");
    if (!given.some((one) => isOneOf(one, secrets))) throw badSignature("The token is not a token of this source.");
  },
  events: (request, _settings, form) => readCloudEvents("cloudevents", request, form),
};

/** CloudEvents 1.0 over HTTP: in headers (binary), in the body (structured), or several in the body (batched). */

const STRUCTURED_TYPE = "application/cloudevents+json";

export function readCloudEvents(kind: string, request: ArrivedRequest, form: WellFormed): Reading {
  if (findHeader(request, "ce-specversion") !== undefined) return { events: [readBinary(kind, request)] };
  requireJson(form, "CloudEvents");
  const { body } = request;
  const parts = partsOf(body, rootSpan(body));
  return readParts(parts ?? [body], (part) => readStructured(kind, part, parts !== undefined));
}

/** An event with its attributes, in the structured form. */
function readStructured(kind: string, body: Buffer, isPart: boolean): ReadEvent {
  const at = (name: string) => scalarTextAt(body, [name]);
  return {
    ...toEvent(kind, at, () => hashOf(body)),
    body,
    ...(isPart && { contentType: STRUCTURED_TYPE }),
  };
}

function readBinary(kind: string, request: ArrivedRequest): ReadEvent {
  const at = (name: string) => decode(findHeader(request, `ce-${name}`));
  if (at("type") === undefined || at("id") === undefined) {
    throw new PosthornError("unreadable_body", "A CloudEvent in headers needs ce-type and ce-id.");
  }
  return toEvent(kind, at, () => undefined);
}

function toEvent(
  kind: string,
  at: (name: string) => string | undefined,
  otherwise: () => string | undefined,
): Pick<ReadEvent, "type" | "identity" | "orderingKey" | "occurredAt"> {
  return {
    type: eventTypeOf(kind, at("type")),
    // Source and id together identify an event (§ 2.3.1 of the specification).
    identity: identityOf(at("source"), at("id")) ?? otherwise(),
    orderingKey: at("partitionkey"),
    occurredAt: findTime(at("time")),
  };
}

/** Values in headers are percent-encoded (§ 3.1.3.2 of the HTTP binding). */
function decode(value: string | undefined): string | undefined {
  if (value === undefined || !value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
