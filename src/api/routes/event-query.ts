import type { FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { EVENT_STATUSES } from "../../model/delivery.ts";
import { invalidField } from "../../model/errors.ts";
import { parseLabel } from "../../model/event-search.ts";
import { EVENT_TYPE_MAX_LENGTH } from "../../model/event.ts";
import { FILTER_LIMITS, parseFilter } from "../../model/filter.ts";
import { parsePattern } from "../../model/pattern.ts";
import { oneOf } from "../../model/shape.ts";
import type { EventFilter } from "../../store/port/reads.ts";
import * as Doc from "../openapi/shapes.ts";

const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: "^[^\\u0000]*$", description });

const MAX_LABELS = 8;

/** The filters of a search; an event must match all that are given. */
export const EventQuery = {
  event_type: text(EVENT_TYPE_MAX_LENGTH, "An event type, or a pattern: `*` matches one word, `#` any number of words"),
  source: text(128, "The source's name"),
  tenant_id: text(128, "Only events of this tenant; for keys that are not bound to a tenant"),
  since: Doc.time("Received at this time or later"),
  until: Doc.time("Received before this time"),
  status: oneOf(EVENT_STATUSES, { description: "The state of the event's deliveries" }),
  unmatched: Doc.flag("True: only events that no subscription matched; false: only events that one did"),
  id: Type.String({
    pattern: "^[A-Za-z0-9_:-]{1,128}\\*?$",
    description: "An event id, or the beginning of one followed by `*`",
  }),
  ordering_key: text(256, "The ordering key"),
  label: Type.Union([label(), Type.Array(label(), { maxItems: MAX_LABELS })], {
    description: "A member of the metadata: `name` or `name=value`; can be repeated",
  }),
  data: text(
    FILTER_LIMITS.maxLength,
    'Conditions on a JSON body, as under `data` of an `event_filter`: `{"order":{"total":{"$gt":100}}}`',
  ),
  text: text(256, "Text that occurs anywhere in the body; upper and lower case are the same"),
};

function label() {
  return Type.String({ minLength: 1, maxLength: 512, pattern: "^[^\\u0000=][^\\u0000]*$" });
}

export const EventParameters = Doc.optional(EventQuery);
export type EventParameters = Static<typeof EventParameters>;

export function readEventFilter(query: EventParameters, { caller }: Pick<FastifyRequest, "caller">): EventFilter {
  const { event_type: type, id, label: labels } = query;
  const isPrefix = id?.endsWith("*") === true;
  const isPattern = type !== undefined && /[*#]/.test(type);
  if (type !== undefined) rejectNoPattern(type);
  return {
    tenantId: caller?.tenantId ?? query.tenant_id,
    type: isPattern ? undefined : type,
    typePattern: isPattern ? type : undefined,
    source: query.source,
    ...readTimes(query),
    status: query.status,
    unmatched: query.unmatched,
    id: isPrefix ? undefined : id,
    idPrefix: isPrefix ? id.slice(0, -1) : undefined,
    orderingKey: query.ordering_key,
    labels: labels === undefined ? undefined : [labels].flat().map(parseLabel),
    text: query.text,
    data: query.data === undefined ? undefined : readData(query.data),
  };
}

export function readTimes(query: Pick<EventParameters, "since" | "until">) {
  const since = query.since === undefined ? undefined : Date.parse(query.since);
  const until = query.until === undefined ? undefined : Date.parse(query.until);
  if (since !== undefined && until !== undefined && since >= until) {
    throw invalidField("since", "since must be before until.");
  }
  return { since, until };
}

export function rejectNoPattern(type: string): void {
  try {
    parsePattern(type);
  } catch (error) {
    throw invalidField("event_type", (error as Error).message);
  }
}

/** Checked here, so that the search never gets an invalid condition. */
function readData(condition: string): string {
  try {
    JSON.parse(condition);
    parseFilter(`{"data":${condition}}`);
    return condition;
  } catch (error) {
    throw invalidField("data", `data is not a valid condition: ${(error as Error).message}`);
  }
}
