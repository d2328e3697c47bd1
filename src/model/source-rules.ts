import { parseIpRange } from "./ip-address.ts";
import { isDeeperThan } from "./json-depth.ts";
import { findFault } from "./errors.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "./event.ts";
import { isGatewayEventType, parsePattern } from "./pattern.ts";
import { GENERIC_KIND, type SourceInput } from "./source.ts";
import type { FieldProblem } from "./subscription-rules.ts";

/** Rules for a source that a JSON Schema cannot express; the API and the configuration share them. */

const CONTROL = /[\p{Cc}\p{Cs}]/u;
const EVENT_TYPE = new RegExp(EVENT_TYPE_PATTERN);
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/(\*|[a-z0-9!#$&^_.+-]+)$/;
const MAX_DEPTH = 32;
const MAX_DOCUMENT_BYTES = 256 * 1024;

export function checkSourceInput(input: SourceInput): FieldProblem[] {
  return [
    ...checkText(input),
    ...checkEventType(input),
    ...checkEach("allowed_ips", input.allowed_ips, (text) =>
      parseIpRange(text) === undefined ? "is not a CIDR; write for example 203.0.113.0/24 or 2001:db8::/32" : undefined,
    ),
    ...checkEach("content_types", input.content_types, (text) =>
      MEDIA_TYPE.test(text.toLowerCase()) ? undefined : "is not a media type; write application/json, or text/*",
    ),
    ...checkEach("only", input.only, (text) => findFault(() => parsePattern(text))?.message),
    ...checkEach("mask", input.mask, (place) => describeMasked(place, input)),
    ...checkDocument("options", input.options),
    ...checkDocument("manifest", input.manifest),
  ];
}

/** Ids and ordering keys are stored unmasked, so their places cannot be masked. */
function describeMasked(place: string, { id_from: id, ordering_key_from: key }: SourceInput): string | undefined {
  const masked = place.startsWith("header:") ? place.toLowerCase() : `body:${place}`;
  const isWithin = (from: string | undefined) =>
    from !== undefined && (from.toLowerCase() === masked || from === masked || from.startsWith(`${masked}/`));
  if (isWithin(id)) return "is the place that id_from reads, which is stored unmasked; use another place for the id";
  return isWithin(key)
    ? "is the place that ordering_key_from reads, which is stored unmasked; use another place for the key"
    : undefined;
}

function checkText(input: SourceInput): FieldProblem[] {
  const message = "must not contain control characters";
  const problems: FieldProblem[] = [];
  if (CONTROL.test(input.tenant_id ?? "")) problems.push({ field: "tenant_id", message });
  if (CONTROL.test(input.auth?.token ?? "")) problems.push({ field: "auth.token", message });
  const secrets = input.secrets ?? [];
  problems.push(...checkEach("secrets", secrets, (text) => (CONTROL.test(text) ? message : undefined)));
  if (new Set(secrets).size < secrets.length)
    problems.push({ field: "secrets", message: "contains the same secret twice" });
  return problems;
}

function checkEventType({ name, kind = GENERIC_KIND, event_type: template }: SourceInput): FieldProblem[] {
  const field = "event_type";
  const asIs = (template ?? "webhook.{source}").replaceAll("{source}", name);
  if (kind === GENERIC_KIND && asIs.includes("{type}")) {
    return [{ field, message: "contains {type}, but a generic source finds no type in a request" }];
  }
  const type = asIs.replaceAll("{type}", "type");
  const problems: FieldProblem[] = [];
  if (!EVENT_TYPE.test(type) || type.length > EVENT_TYPE_MAX_LENGTH) {
    const message = "is not an event type: write words of letters, digits, _ and - with dots between them";
    problems.push({ field, message });
  }
  if (isGatewayEventType(type)) {
    problems.push({ field, message: "is a type of the gateway's own events; choose another type" });
  }
  return problems;
}

function checkEach(
  field: string,
  texts: readonly string[] | null | undefined,
  findProblem: (text: string) => string | undefined,
): FieldProblem[] {
  return (texts ?? []).flatMap((text, index) => {
    const message = findProblem(text);
    return message === undefined ? [] : [{ field: `${field}[${index}]`, message }];
  });
}

function checkDocument(field: string, value: unknown): FieldProblem[] {
  if (isDeeperThan(value, MAX_DEPTH)) return [{ field, message: `is nested more than ${MAX_DEPTH} levels deep` }];
  if (typeof value === "string" && CONTROL.test(value)) {
    return [{ field, message: "must not contain control characters" }];
  }
  const size = JSON.stringify(value ?? null).length;
  return size > MAX_DOCUMENT_BYTES ? [{ field, message: `is larger than ${MAX_DOCUMENT_BYTES / 1024} KB` }] : [];
}
