import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { explainFilter, parseFilter, type Filter, type FilterFacts } from "../../model/filter.ts";
import { parseQuery } from "../../model/addresses.ts";
import { createFilterFacts } from "../../accept/filter-facts.ts";
import type { Store } from "../../store/store.ts";
import { presentFilterFailure } from "../present/filter.ts";
import { lowerNames, SampleEvent, StoredEventId } from "./sample-event.ts";

const Members = Type.Record(Type.String(), Type.Unknown());

const TestBody = Type.Object(
  {
    filter: Type.Union([Members, Type.String()], { description: "The same as `event_filter` of a subscription" }),
    event: Type.Optional(SampleEvent),
    event_id: Type.Optional(StoredEventId),
  },
  { additionalProperties: false },
);

/** Tests a filter on an event and explains why it does not match. Nothing is stored. */
export function addFilterRoutes(app: FastifyInstance, { store }: { store: Store }): void {
  app.post<{ Body: Static<typeof TestBody> }>(
    "/api/v1/filters/test",
    { config: { scope: "read" }, schema: { summary: "Test a filter on an event", body: TestBody } },
    async ({ body, caller }) => {
      const { event, event_id: eventId } = body;
      const filter = readFilter(body.filter);
      if ((event === undefined) === (eventId === undefined)) {
        throw new PosthornError("invalid_field", "Give either event or event_id.", { field: "event" });
      }
      const facts =
        eventId === undefined
          ? toFacts(event ?? {}, caller?.tenantId)
          : await loadFacts(eventId, caller?.tenantId, filter.readsData);
      const failure = explainFilter(filter, facts);
      return failure === undefined ? { match: true } : { match: false, failed: presentFilterFailure(failure) };
    },
  );

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
