import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import { createFilterFacts } from "../../accept/router.ts";
import { describeUnknownKind, fieldOf, templatesIn } from "../../destinations/kinds.ts";
import { parseQuery } from "../../model/addresses.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT, PRIORITIES, type EventContent } from "../../model/event.ts";
import { explainFilter, parseFilter, type Filter, type FilterFacts, type FilterFailure } from "../../model/filter.ts";
import { parsePattern } from "../../model/pattern.ts";
import { describeSchemaError, oneOf } from "../../model/shape.ts";
import { DEFAULT_KIND } from "../../model/subscription.ts";
import { listNamedSchemas } from "../../resources/event-types/event-types.ts";
import { TEMPLATE_LIMITS, type Template, type TemplateFacts } from "../../sandbox/templates/templates.ts";
import { EXAMPLE } from "../openapi/examples.ts";
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
const SampleEvent = Doc.optional({
  event_type: Type.String({ maxLength: 255 }),
  source: Type.String({ maxLength: 128 }),
  tenant_id: Type.String({ maxLength: 128 }),
  priority: oneOf(PRIORITIES),
  headers: Members,
  query: Type.Union([Members, Doc.textOf("The query string of a URL")]),
  metadata: Members,
  data: Type.Unknown({ description: "The JSON body; leave it out if the body is not JSON" }),
});
type SampleEvent = Static<typeof SampleEvent>;

export const StoredEventId = Type.String({ minLength: 1, maxLength: 128, description: "The id of a stored event" });

/** Header names in lower case, because they are case-insensitive. */
function lowerNames(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
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

const TemplatePreview = Doc.closed(() => ({
  problems: Type.Array(Doc.closed({ field: Doc.text("template.body"), message: Type.String() }), {
    description: "Problems for which a subscription with these templates would be rejected",
  }),
  rendered: Doc.nullable(Type.Array(Doc.closed({ name: Doc.text("template.body"), text: Type.String() }))),
  fault: Doc.textOrNull("The problem for which the delivery would become a dead letter"),
}));

const GivenTemplate = Doc.closed({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  text: Type.String({ maxLength: TEMPLATE_LIMITS.maxLength }),
  place: Type.Optional(
    Type.Enum(["text", "html", "json", "url", "header"], {
      description: "Where the text is used, which determines escaping; `text` by default",
    }),
  ),
});

const PreviewBody = Doc.optional({
  subscription_id: Type.String({ maxLength: 128, description: "Render the templates of this subscription" }),
  kind: Type.String({ maxLength: 64, description: "The kind of destination of `settings`; `http` by default" }),
  settings: Type.Record(Type.String(), Type.Unknown(), {
    description: "Settings of a destination that contain templates, as in a subscription",
  }),
  templates: Type.Array(GivenTemplate, { minItems: 1, maxItems: 50 }),
  events: Type.Array(Type.String({ maxLength: 255 }), {
    maxItems: 200,
    description:
      "Patterns of event types; templates may use only fields of their schemas. By default the type of the event",
  }),
  event: SampleEvent,
  event_id: StoredEventId,
});
type PreviewBody = Static<typeof PreviewBody>;

/** Renders templates with an event. Nothing is stored or sent. */
export function addTemplateRoutes(app: FastifyInstance, parts: Parts): void {
  const { store, clock, kinds, subscriptions, eventTypes, templates } = parts;
  const route = routesOf(app, "Templates");

  route("POST /api/v1/templates/preview", READ, "Preview templates with an event", {
    body: PreviewBody,
    description:
      "Renders the templates of a subscription, of settings that are not saved yet, or any others. The event is one " +
      "that you describe, or a stored one. Nothing is stored or sent.",
    example: {
      body: {
        settings: { template: { body: '{"text":"Order of {{ data.total }} EUR"}' } },
        event: { event_type: EXAMPLE.eventType, data: { total: 12 } },
      },
    },
    answer: () =>
      Doc.shows(TemplatePreview, "The rendered texts, and any problems", {
        problems: [],
        rendered: [{ name: "template.body", text: '{"text":"Order of 12 EUR"}' }],
        fault: null,
      }),
    errors: ["not_found", "unavailable"],
    async handle({ body, caller }) {
      const list = findTemplates(body, caller?.tenantId);
      const facts = await findFacts(body, caller?.tenantId);
      const schemas = listNamedSchemas(readPatterns(body.events ?? [facts.event.type]), eventTypes.list());
      // Neither other tenants nor deliveries wait for previews.
      const line = `previews of ${caller?.tenantId ?? "operators"}`;
      const problems = await templates.examine(list, schemas, { line, withinMs: PREVIEW_MS });
      const rendered = await templates.render(list, facts, line);
      if ("fault" in rendered && rendered.isPassing) {
        throw new PosthornError("unavailable", `It could not be rendered now: ${rendered.fault}.`, { retryAfterS: 5 });
      }
      return {
        problems: problems.map(({ field, message }) => ({ field, message })),
        rendered: "texts" in rendered ? list.map(({ name }, i) => ({ name, text: rendered.texts[i] ?? "" })) : null,
        fault: "fault" in rendered ? rendered.fault : null,
      };
    },
  });

  function findTemplates(body: PreviewBody, tenantId: string | undefined): readonly Template[] {
    const { subscription_id: id, settings, templates: given } = body;
    if ([id, settings, given].filter((one) => one !== undefined).length !== 1) {
      throw invalidField("templates", "Give one of subscription_id, settings and templates.");
    }
    if (given !== undefined) {
      return given.map(({ name, text, place = "text" }, i) => ({ name: name ?? `templates[${i}]`, text, place }));
    }
    if (settings !== undefined) return readSettings(body.kind ?? DEFAULT_KIND, settings);
    const known = subscriptions.settingsOf(subscriptions.getById(id ?? "", tenantId));
    const kind = kinds.findOf(known);
    return kind === undefined ? [] : templatesIn(known, kind);
  }

  function readSettings(name: string, settings: Readonly<Record<string, unknown>>): readonly Template[] {
    const kind = kinds.find(name);
    if (kind === undefined) throw invalidField("kind", `${describeUnknownKind(name, kinds)}.`);
    for (const [field, value] of Object.entries(settings)) {
      const schema = kind.settings.properties[field];
      const place = `settings.${fieldOf(field, { isFlat: true })}`;
      if (schema === undefined) {
        throw invalidField(place, `${place}: is not a setting of the kind ${name}.`);
      }
      const errors = Value.Check(schema, value) ? [] : Value.Errors(schema, value);
      const [error] = errors;
      if (error === undefined) continue;
      throw invalidField(place, `${place}: ${describeSchemaError(error, errors)}.`);
    }
    return kind.templatesOf?.(settings) ?? [];
  }

  async function findFacts(body: PreviewBody, tenantId: string | undefined): Promise<TemplateFacts> {
    const { event, event_id: eventId, subscription_id: id } = body;
    if (event !== undefined && eventId !== undefined) {
      throw invalidField("event", "Give either event or event_id.");
    }
    const subscription = id === undefined ? EXAMPLE_SUBSCRIPTION : subscriptions.getById(id, tenantId);
    const common = { subscription, delivery: { id: "dlv_preview", attempt: 1 } };
    if (eventId === undefined) return { ...toSampleFacts(event ?? {}, tenantId, clock.wall()), ...common };
    const stored = await store.reads.findEvent(eventId, tenantId);
    const loaded = stored && (await store.reads.loadEvent(stored.seq));
    if (stored === undefined || loaded?.body === undefined) {
      throw new PosthornError("not_found", `There is no event ${eventId}.`);
    }
    return { event: { ...stored, body: loaded.body }, request: stored.request, details: stored.details, ...common };
  }
}

/** Many are asked for by somebody who types; few take a tenth of it. */
const PREVIEW_MS = 1000;
const EXAMPLE_SUBSCRIPTION = { id: "sub_preview", name: "preview" };

function readPatterns(patterns: readonly string[]): readonly string[] {
  for (const pattern of patterns) parsePattern(pattern);
  return patterns;
}

/** Fills in the fields that all events have, if the sample lacks them. */
function toSampleFacts(sample: SampleEvent, tenantId: string | undefined, wallMs: number): TemplateFacts {
  const { headers, query, metadata, data } = sample;
  const event: EventContent = {
    id: "evt_preview",
    type: sample.event_type ?? "test.event",
    version: "1.0",
    source: sample.source ?? "preview",
    tenantId: sample.tenant_id ?? tenantId ?? DEFAULT_TENANT,
    priority: sample.priority ?? "normal",
    orderingKey: undefined,
    occurredAt: wallMs,
    receivedAt: wallMs,
    contentType: "application/json",
    body: Buffer.from(JSON.stringify(data ?? null)),
    origin: "publish",
  };
  return {
    event,
    request: JSON.stringify({ headers: lowerNames(headers ?? {}), query: toQuery(query) }),
    details: JSON.stringify({ metadata }),
  };
}

function toQuery(query: SampleEvent["query"]): string {
  if (query === undefined || typeof query === "string") return query ?? "";
  const values = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
  );
  return new URLSearchParams(values).toString();
}
