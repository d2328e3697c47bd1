import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import { SubscriptionInput, type Subscription } from "../../domain/subscription.ts";
import type { Subscriptions } from "../../manage/subscriptions.ts";
import type { Store } from "../../store/store.ts";
import { presentSubscription } from "../present/subscription.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const { tenant_id: _, ...changeable } = SubscriptionInput.properties;
const SubscriptionChange = Type.Partial(Type.Object(changeable), { additionalProperties: false });

const ListQuery = Type.Object(
  {
    ...PageQuery,
    cursor: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })),
    tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
  },
  { additionalProperties: false },
);

export interface SubscriptionRoutesOptions {
  subscriptions: Subscriptions;
  store: Store;
}

export function addSubscriptionRoutes(app: FastifyInstance, { subscriptions, store }: SubscriptionRoutesOptions): void {
  const get = (request: FastifyRequest) =>
    subscriptions.getById((request.params as { id: string }).id, request.caller?.tenantId);

  async function present(subscription: Subscription) {
    const { deliveries } = await store.loadCounters();
    const counters = deliveries.find(({ subscriptionSeq }) => subscriptionSeq === subscription.seq);
    return presentSubscription(subscription, subscriptions.settingsOf(subscription), counters ?? NONE);
  }

  app.post<{ Body: SubscriptionInput }>(
    "/api/v1/subscriptions",
    { config: { scope: "admin" }, schema: { body: SubscriptionInput } },
    async ({ body, caller }, reply) => {
      const bound = caller?.tenantId;
      if (bound !== undefined && body.tenant_id !== undefined && body.tenant_id !== bound) {
        throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}; leave tenant_id out.`);
      }
      const created = await subscriptions.create(bound === undefined ? body : { ...body, tenant_id: bound });
      return reply.code(201).send({ ...(await present(created)), secret: created.secrets[0] });
    },
  );

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/subscriptions",
    { config: { scope: "read" }, schema: { querystring: ListQuery } },
    async ({ caller, query }) => {
      const { limit, cursor } = pageOf(query);
      const rest = subscriptions
        .list(caller?.tenantId ?? query.tenant_id)
        .filter(({ seq }) => seq > Number(cursor ?? 0));
      const rows = rest.slice(0, limit);
      const nextCursor = rest.length > limit ? String(rows.at(-1)?.seq) : undefined;
      const { deliveries } = await store.loadCounters();
      const counters = new Map(deliveries.map((row) => [row.subscriptionSeq, row]));
      return presentPage({ rows, nextCursor }, (one) =>
        presentSubscription(one, subscriptions.settingsOf(one), counters.get(one.seq) ?? NONE),
      );
    },
  );

  app.get("/api/v1/subscriptions/:id", { config: { scope: "read" } }, (request) => present(get(request)));

  app.patch<{ Body: Static<typeof SubscriptionChange> }>(
    "/api/v1/subscriptions/:id",
    { config: { scope: "admin" }, schema: { body: SubscriptionChange } },
    async (request) => present(await subscriptions.change(get(request), request.body)),
  );

  app.delete("/api/v1/subscriptions/:id", { config: { scope: "admin" } }, async (request) => {
    const subscription = get(request);
    return { id: subscription.id, cancelled_deliveries: await subscriptions.remove(subscription) };
  });

  app.post("/api/v1/subscriptions/:id/pause", { config: { scope: "admin" } }, async (request) =>
    present(await subscriptions.setStatus(get(request), "inactive")),
  );

  app.post("/api/v1/subscriptions/:id/resume", { config: { scope: "admin" } }, async (request) =>
    present(await subscriptions.setStatus(get(request), "active")),
  );
}

const NONE = {
  subscriptionSeq: 0,
  tenantId: "",
  created: 0,
  delivered: 0,
  dead: 0,
  cancelled: 0,
  attempts: 0,
  failures: 0,
  lastAttemptAt: undefined,
};
