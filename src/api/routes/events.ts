import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { SEARCH_BUDGET_MS } from "../../model/event-search.ts";
import { rejectErased, type BodyErasures } from "../../jobs/body-erasure.ts";
import type { Replays } from "../../replays/replays.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import { isFor, type Subscription } from "../../model/subscription.ts";
import type { EditedReplays } from "../../replays/edited-replay.ts";
import type { StoredDelivery, StoredEvent } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import { presentEvent, presentEventRequest, presentStoredBody } from "../present/event.ts";
import { isoTime } from "../present/time.ts";
import { findJsonMember, keepJsonText } from "../json-text.ts";
import { refusePublishingPartner } from "../../intake/hot-routes.ts";
import { EventQuery, readEventFilter } from "./event-query.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const ListQuery = Type.Object({ ...PageQuery, ...EventQuery }, { additionalProperties: false });

const OneQuery = Type.Object(
  {
    body: Type.Optional(
      Type.Union([Type.Literal("true"), Type.Literal("base64")], {
        default: "true",
        description: "`true`: show the body as JSON or text; `base64`: byte for byte in `payload_base64`",
      }),
    ),
  },
  { additionalProperties: false },
);

const MAX_RECIPIENTS = 100;

const ReplayBody = Type.Object(
  {
    subscription_id: Type.Optional(
      Type.String({
        maxLength: 128,
        description: "Replay to this subscription only; it need not have received the event before",
      }),
    ),
    subscription_ids: Type.Optional(
      Type.Array(Type.String({ maxLength: 128 }), {
        minItems: 1,
        maxItems: MAX_RECIPIENTS,
        uniqueItems: true,
        description: "With a `payload`: only these subscriptions get the new event, whether or not they want its type",
      }),
    ),
    payload: Type.Optional(
      Type.Unknown({
        description: "The body of a new event that is sent instead; any JSON, kept byte for byte",
      }),
    ),
  },
  { additionalProperties: false },
);

const EraseQuery = Type.Object(
  {
    force: Type.Optional(
      Type.Boolean({ default: false, description: "Erase even if deliveries are open; these become dead letters" }),
    ),
  },
  { additionalProperties: false },
);

export interface EventRoutesOptions {
  store: Store;
  replays: Replays;
  subscriptions: Pick<Subscriptions, "getFor">;
  editedReplays: EditedReplays;
  /** Called when somebody sends an edited event. The note is on disk before the event is. */
  onEdited: (event: StoredEvent, eventId: string) => Promise<void>;
  bodyErasures: BodyErasures;
  presentDelivery: (delivery: StoredDelivery) => object;
}

/** The list of deliveries has the others. */
const FIRST_DELIVERIES = { limit: 1000, cursor: undefined };

export function addEventRoutes(app: FastifyInstance, options: EventRoutesOptions): void {
  const { store, replays, editedReplays, onEdited, bodyErasures, presentDelivery } = options;

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/events",
    {
      config: { scope: "read" },
      schema: { summary: "Search events", querystring: ListQuery },
    },
    async (request) => {
      const filter = readEventFilter(request.query, request);
      const page = await store.reads.listEvents(filter, { ...pageOf(request.query), budgetMs: SEARCH_BUDGET_MS });
      return {
        ...presentPage(page, (event) => presentEvent(event, filter.tenantId)),
        searched_until: isoTime(page.searchedUntil) ?? null,
        ...((filter.text !== undefined || filter.data !== undefined) && { skipped_bodies: page.skippedBodies }),
      };
    },
  );

  app.get<{ Params: { id: string }; Querystring: Static<typeof OneQuery> }>(
    "/api/v1/events/:id",
    {
      config: { scope: "read" },
      schema: { summary: "Get an event with its body and deliveries", querystring: OneQuery },
    },
    async (request, reply) => {
      const tenantId = request.caller?.tenantId;
      const event = await getEvent(request.params.id, tenantId);
      const ofEvent = { eventSeq: event.seq, tenantId };
      const { rows: deliveries } = await store.reads.listDeliveries(ofEvent, FIRST_DELIVERIES);
      const shown = JSON.stringify({
        ...presentEvent(event, tenantId),
        request: presentEventRequest(event),
        deliveries: deliveries.map(presentDelivery),
      });
      const form = request.query.body === "base64" ? "base64" : "json";
      const body = await presentStoredBody(event, () => store.reads.loadEvent(event.seq), form);
      return reply.type("application/json").send(`${shown.slice(0, -1)},${body}}`);
    },
  );

  void app.register(async (scope) => {
    keepJsonText(scope);
    scope.post<{ Params: { id: string }; Body: Static<typeof ReplayBody> | undefined }>(
      "/api/v1/events/:id/replay",
      {
        config: { scope: "admin" },
        schema: {
          summary: "Replay an event, unchanged or edited",
          body: Type.Union([ReplayBody, Type.Null()]),
        },
      },
      async (request, reply) => {
        const { body, caller } = request;
        const event = await getEvent(request.params.id, caller?.tenantId);
        rejectErased(event);
        const payload = findJsonMember(request, "payload");
        if (payload !== undefined) {
          refusePublishingPartner(caller);
          const to = findRecipients(body ?? {}, event, caller?.tenantId);
          const made = await editedReplays.replay(event, payload, (id) => onEdited(event, id), to);
          const count = made.deliveries + (caller?.tenantId === undefined ? (made.operatorDeliveries ?? 0) : 0);
          return reply.code(201).send({ event_id: made.eventId, replay_of: event.id, delivery_count: count });
        }
        refuseSeveral(body?.subscription_ids);
        const deliveries = await replays.replayEvent(event, body?.subscription_id, caller?.tenantId);
        return reply.code(202).send({ event_id: event.id, deliveries: deliveries.map(presentDelivery) });
      },
    );
  });

  app.delete<{ Params: { id: string }; Querystring: Static<typeof EraseQuery> }>(
    "/api/v1/events/:id/body",
    { config: { scope: "admin" }, schema: { summary: "Erase the body of an event", querystring: EraseQuery } },
    async ({ params, query, caller }) => {
      const event = await getEvent(params.id, caller?.tenantId);
      return {
        event_id: event.id,
        ended_deliveries: await bodyErasures.erase(event, query.force === true, caller?.tenantId),
      };
    },
  );

  /** Undefined when the request names none. */
  function findRecipients(
    body: Static<typeof ReplayBody>,
    event: StoredEvent,
    boundTo: string | undefined,
  ): readonly Subscription[] | undefined {
    const { subscription_id: one, subscription_ids: several } = body;
    if (one !== undefined && several !== undefined) {
      throw new PosthornError("invalid_field", "Give either subscription_id or subscription_ids, not both.", {
        field: "subscription_ids",
      });
    }
    const ids = one === undefined ? several : [one];
    return ids?.map((id) => {
      const subscription = options.subscriptions.getFor("use", id, { tenantId: boundTo, boundTo });
      if (!isFor(subscription, event.tenantId)) throw new PosthornError("not_found", `There is no subscription ${id}.`);
      return subscription;
    });
  }

  async function getEvent(id: string, tenantId: string | undefined): Promise<StoredEvent> {
    const event = await store.reads.findEvent(id, tenantId);
    if (event === undefined) throw new PosthornError("not_found", `There is no event ${id}.`);
    return event;
  }
}

function refuseSeveral(subscriptionIds: readonly string[] | undefined): void {
  if (subscriptionIds === undefined) return;
  throw new PosthornError(
    "invalid_field",
    "subscription_ids needs a payload. Without one, the event is replayed to all who had it, or to subscription_id.",
    { field: "subscription_ids" },
  );
}
