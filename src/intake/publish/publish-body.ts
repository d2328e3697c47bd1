import { PosthornError } from "../../model/errors.ts";
import { elementSpans, memberSpans, skipSpace, type Span } from "../../model/json-members.ts";
import { checkJsonText } from "../../sandbox/text/json-text.ts";
import { DEFAULT_PUBLISH_LIMITS, type PublishItem, type PublishLimits } from "./publish-item.ts";
import { createDraft, findRule, PUBLISH_FIELDS, type RuleFault } from "./publish-rules.ts";
import { bomLength } from "../../sandbox/text/unreadable.ts";

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

export interface PublishBody {
  batch: boolean;
  /** In the order of the request. An invalid event becomes an error at its place and does not affect the others. */
  items: readonly (PublishItem | PosthornError)[];
}

export function parsePublishBody(body: Buffer, limits: PublishLimits = DEFAULT_PUBLISH_LIMITS): PublishBody {
  const whole = { start: skipSpace(body, bomLength(body)), end: body.length };
  const batch = body[whole.start] === OPEN_BRACKET;
  // Counted first, so that a batch with too many events is rejected before each is read.
  const spans = batch ? elementSpans(body, whole.start, whole.end, limits.maxItems + 1) : [whole];
  if (spans.length > limits.maxItems) {
    throw new PosthornError(
      "too_large",
      `The batch has more than ${limits.maxItems} events. Publish them in several requests.`,
      { details: { max_items: limits.maxItems } },
    );
  }
  checkJsonText(body, limits.maxDepth);
  return { batch, items: spans.map((span, index) => parseItem(body, span, limits, batch ? { index } : undefined)) };
}

function parseItem(
  body: Buffer,
  { start, end }: Span,
  limits: PublishLimits,
  details: { index: number } | undefined,
): PublishItem | PosthornError {
  const refuse = (field: string | undefined, message: string, code: RuleFault["code"] = "invalid_field") =>
    new PosthornError(code, message, { field, details });

  if (body[start] !== OPEN_BRACE)
    return refuse(undefined, "An event must be a JSON object with event_type and payload.");
  const draft = createDraft();
  const unknown = new Map<string, Span>();
  for (const [name, span] of memberSpans(body, start, end)) {
    const rule = findRule(name);
    if (rule === undefined && limits.keepsUnknown === true) {
      unknown.set(name, span);
      continue;
    }
    if (rule === undefined) {
      const field = name.slice(0, 60);
      return refuse(field, `${JSON.stringify(field)} is not a field of an event. Use ${PUBLISH_FIELDS.join(", ")}.`);
    }
    const fault = rule(draft, body, span, limits);
    if (fault !== undefined) return refuse(name, `${name} ${fault.message}`, fault.code);
  }
  const { eventType, payload } = draft;
  if (eventType === undefined)
    return refuse("event_type", "event_type is missing. Name what happened, such as order.created.");
  if (payload === undefined) return refuse("payload", "payload is missing. Send a JSON object.");
  return { ...draft, eventType, payload, metadata: addUnknown(draft.metadata, body, unknown) };
}

/** What the metadata says itself counts more than a field of the same name. */
function addUnknown(
  metadata: string | undefined,
  body: Buffer,
  unknown: ReadonlyMap<string, Span>,
): string | undefined {
  if (unknown.size === 0) return metadata;
  const known = Buffer.from(metadata ?? "{}");
  const names = memberSpans(known, 0, known.length);
  const added = [...unknown].filter(([name]) => !names.has(name));
  const members = added.map(([name, { start, end }]) => `${JSON.stringify(name)}:${body.toString("utf8", start, end)}`);
  if (members.length === 0) return metadata;
  const before = known.toString("utf8").trimEnd().slice(0, -1).trimEnd();
  return `${before}${names.size === 0 ? "" : ","}${members.join(",")}}`;
}
