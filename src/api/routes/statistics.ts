import { countOpen } from "../../model/delivery.ts";
import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { LATENCY_ERROR } from "../../model/latency-histogram.ts";
import { oneOf } from "../../model/shape.ts";
import { SUBSCRIPTION_STATUSES } from "../../model/subscription.ts";
import { EVENTS_TAKEN, WHOLE_GATEWAY, WINDOWS, type Statistics, type WindowName } from "../../jobs/statistics.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { Store } from "../../store/store.ts";
import { presentCounters, presentWindow, sumOf, total } from "../present/statistics.ts";

const Id = Type.Object({ id: Type.String() });
const GatewayQuery = Type.Object(
  { tenant_id: Type.Optional(Type.String({ maxLength: 128, description: "Only figures of this tenant" })) },
  { additionalProperties: false },
);

const SeriesQuery = Type.Object(
  {
    ...GatewayQuery.properties,
    window: Type.Optional(oneOf(Object.keys(WINDOWS) as WindowName[], { default: "last_1h" })),
    subscription_id: Type.Optional(Type.String({ maxLength: 128, description: "Only figures of this subscription" })),
  },
  { additionalProperties: false },
);

export interface StatisticsRoutesOptions {
  statistics: Pick<Statistics, "describe" | "describeWindow">;
  subscriptions: Subscriptions;
  store: Pick<Store, "reads">;
}

export function addStatisticsRoutes(app: FastifyInstance, options: StatisticsRoutesOptions): void {
  const { statistics, subscriptions, store } = options;

  async function describe(subscriptionSeqs: readonly number[]) {
    const { last_1h, last_24h } = await statistics.describe(subscriptionSeqs);
    return {
      last_1h: presentWindow(last_1h),
      last_24h: presentWindow(last_24h),
      latency_max_error: LATENCY_ERROR,
    };
  }

  app.get<{ Params: Static<typeof Id> }>(
    "/api/v1/subscriptions/:id/stats",
    {
      config: { scope: "read" },
      schema: { summary: "Get success rates and latencies of a subscription", params: Id },
    },
    async ({ params, caller }) => {
      const { id, seq } = subscriptions.getById(params.id, caller?.tenantId);
      const { deliveries } = await store.reads.loadCounters();
      const counters = sumOf(deliveries.filter(({ subscriptionSeq }) => subscriptionSeq === seq));
      return { subscription_id: id, ...presentCounters(counters), ...(await describe([seq])) };
    },
  );

  app.get<{ Querystring: Static<typeof SeriesQuery> }>(
    "/api/v1/stats/series",
    {
      config: { scope: "read" },
      schema: { summary: "Get received events and attempts over time", querystring: SeriesQuery },
    },
    async ({ query, caller }) => {
      const { window = "last_1h", subscription_id: id } = query;
      const tenantId = caller?.tenantId ?? query.tenant_id;
      const isWhole = tenantId === undefined && id === undefined;
      const one = id === undefined ? undefined : subscriptions.getById(id, tenantId).seq;
      const seqs = one === undefined ? subscriptions.list(tenantId).map(({ seq }) => seq) : [one];
      const shown = presentWindow(await statistics.describeWindow(window, isWhole ? [WHOLE_GATEWAY] : seqs));
      const taken = isWhole ? await statistics.describeWindow(window, [EVENTS_TAKEN]) : undefined;
      const series = shown.series.map((point, n) => ({ ...point, event_count: taken?.series[n]?.attempts ?? null }));
      return { window, ...shown, event_count: taken?.attempts ?? null, series };
    },
  );

  app.get<{ Querystring: Static<typeof GatewayQuery> }>(
    "/api/v1/stats",
    {
      config: { scope: "read" },
      schema: { summary: "Get statistics of the gateway or of one tenant", querystring: GatewayQuery },
    },
    async ({ query, caller }) => {
      const tenantId = caller?.tenantId ?? query.tenant_id;
      const isMeant = (row: { tenantId: string }) => tenantId === undefined || row.tenantId === tenantId;
      const { events, deliveries } = await store.reads.loadCounters();
      const ours = events.filter(isMeant);
      const sum = sumOf(deliveries.filter(isMeant));
      const owned = subscriptions.list(tenantId);
      return {
        tenant_id: tenantId ?? null,
        events: {
          accepted: total(ours.map(({ accepted }) => accepted)),
          unmatched: total(
            ours.map(({ unmatched, operatorsOnly }) => unmatched - (tenantId === undefined ? operatorsOnly : 0)),
          ),
          duplicates: total(ours.map(({ duplicates }) => duplicates)),
        },
        deliveries: {
          created: sum.created,
          open: countOpen(sum),
          delivered: sum.delivered,
          dead: sum.dead,
          cancelled: sum.cancelled,
          dead_letters: sum.deadLetters,
        },
        attempts: { total: sum.attempts, succeeded: sum.attempts - sum.failures, failed: sum.failures },
        subscriptions: Object.fromEntries(
          SUBSCRIPTION_STATUSES.map((status) => [status, owned.filter((one) => one.status === status).length]),
        ),
        ...(await describe(tenantId === undefined ? [WHOLE_GATEWAY] : owned.map(({ seq }) => seq))),
      };
    },
  );
}
