import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { createFilterFacts } from "../../accept/router.ts";
import { parseQuery } from "../../model/addresses.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT, PRIORITIES } from "../../model/event.ts";
import { explainFilter, parseFilter, type Filter, type FilterFacts, type FilterFailure } from "../../model/filter.ts";
import { oneOf } from "../../model/shape.ts";
import * as Doc from "../openapi/shapes.ts";
import { READ, routesOf, type Parts } from "./route.ts";

const FilterResult = Doc.closed(() => ({
  match: Type.Boolean(),
  failed: Type.Optional(
    Doc.closed({
      path: Type.String(),
      operator: Type.String(),
      expected: Type.Unknown(),
      found: Type.Optional(Type.Unknown({ description: "The value at that path; missing when the event has none" })),
    }),
  ),
}));

const Members = Type.Record(Type.String(), Type.Unknown());

/** An event that the caller describes for a test. */
export const SampleEvent = Doc.optional({
  event_type: Type.String({ maxLength: 255 }),
  source: Type.String({ maxLength: 128 }),
  tenant_id: Type.String({ maxLength: 128 }),
  priority: oneOf(PRIORITIES),
  headers: Members,
  query: Type.Union([Members, Doc.textOf("The query string of a URL")]),
  metadata: Members,
  data: Type.Unknown({ description: "The JSON body; leave it out if the body is not JSON" }),
});
export type SampleEvent = Static<typeof SampleEvent>;

export const StoredEventId = Type.String({ minLength: 1, maxLength: 128, description: "The id of a stored event" });

/** Header names in lower case, because they are case-insensitive. */
export function lowerNames(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const TestBody = Doc.closed({
  filter: Type.Union([Members, Type.String()], { description: "The same as `event_filter` of a subscription" }),
  event: Type.Optional(SampleEvent),
  event_id: Type.Optional(StoredEventId),
});

/** Tests a filter on an event and explains why it does not match. Nothing is stored. */
export function addFilterRoutes(app: FastifyInstance, { store }: Parts): void {
  const route = routesOf(app, "Filters");
  route("POST /api/v1/filters/test", READ, "Test a filter on an event", {
    body: TestBody,
    description: "Tests the filter on an event that you describe, or on a stored event. Nothing is stored.",
    example: { body: { filter: { data: { total: { $gt: 100 } } }, event: { data: { total: 12 } } } },
    answer: () =>
      Doc.shows(FilterResult, "Whether the filter matches and, if not, which conditions failed", {
        match: false,
        failed: { path: "data.total", operator: "$gt", expected: 100, found: 12 },
      }),
    errors: ["not_found"],
    async handle({ body, caller }) {
      const { event, event_id: eventId } = body;
      const filter = readFilter(body.filter);
      if ((event === undefined) === (eventId === undefined)) {
        throw invalidField("event", "Give either event or event_id.");
      }
      const facts =
        eventId === undefined
          ? toFacts(event ?? {}, caller?.tenantId)
          : await loadFacts(eventId, caller?.tenantId, filter.readsData);
      const failure = explainFilter(filter, facts);
      return failure === undefined ? { match: true } : { match: false, failed: presentFilterFailure(failure) };
    },
  });

  async function loadFacts(id: string, tenantId: string | undefined, readsData: boolean): Promise<FilterFacts> {
    const event = await store.reads.findEvent(id, tenantId);
    if (event === undefined) throw new PosthornError("not_found", `There is no event ${id}.`);
    return createFilterFacts({
      ...event,
      body: readsData ? (await store.reads.loadEvent(event.seq))?.body : undefined,
    });
  }
}

function readFilter(value: unknown): Filter {
  try {
    return parseFilter(value, "filter");
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    throw new PosthornError(error.code, `${error.field}: ${error.message}`, { field: error.field });
  }
}

/** Fills in the fields that all events have, if the sample lacks them. */
function toFacts(event: SampleEvent, boundTenant: string | undefined): FilterFacts {
  const { headers, query } = event;
  return {
    event_type: event.event_type,
    source: event.source,
    tenant_id: event.tenant_id ?? boundTenant ?? DEFAULT_TENANT,
    priority: event.priority ?? "normal",
    headers: headers && lowerNames(headers),
    query: typeof query === "string" ? parseQuery(query) : query,
    metadata: event.metadata,
    data: event.data,
  };
}

const MAX_TEXT = 200;
const MAX_ITEMS = 20;
const MAX_DEPTH = 4;

/** `found` is left out when the event has no value at that path. A large value is shortened. */
function presentFilterFailure({ path, operator, expected, found }: FilterFailure) {
  return { path, operator, expected, ...(found !== undefined && { found: shorten(found, MAX_DEPTH) }) };
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.length <= MAX_TEXT ? value : `${value.slice(0, MAX_TEXT)}…`;
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "…";
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ITEMS).map((item) => shorten(item, depth - 1));
    return value.length <= MAX_ITEMS ? shown : [...shown, "…"];
  }
  const members = Object.entries(value);
  const shown = members.slice(0, MAX_ITEMS).map(([name, item]) => [name, shorten(item, depth - 1)] as const);
  return Object.fromEntries(members.length <= MAX_ITEMS ? shown : [...shown, ["…", "…"] as const]);
}
