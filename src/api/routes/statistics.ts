import type { FastifyInstance } from "fastify";
import { Type, type TSchema } from "typebox";
import {
  EVENTS_TAKEN,
  WHOLE_GATEWAY,
  WINDOWS,
  type Figures,
  type Summary,
  type Window,
  type WindowName,
} from "../../jobs/statistics.ts";
import { countOpen } from "../../model/delivery.ts";
import { LATENCY_ERROR } from "../../model/latency-histogram.ts";
import { oneOf } from "../../model/shape.ts";
import { SUBSCRIPTION_STATUSES } from "../../model/subscription.ts";
import type { DeliveryCounters } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime } from "../present.ts";
import { READ, routesOf, type Parts } from "./route.ts";

/** The result of `presentCounters`. */
export const CounterDocs = {
  delivery_count: Doc.countOf("Attempts"),
  success_count: Doc.Count,
  failure_count: Doc.Count,
  last_delivery: Doc.nullable(Doc.Time),
  open_count: Doc.Count,
  dead_count: Doc.Count,
};

const share = (description: string, example: number) =>
  Doc.nullable(Type.Number({ minimum: 0, maximum: 1, description, examples: [example] }));

/** Shares of deliveries, not of attempts. */
export const DELIVERED = "Of the deliveries that ended, the share that was delivered; null when none ended";
export const FIRST_TRY = "The same for those that were delivered at the first try";

const figures = {
  delivered_count: Doc.count(98, "Deliveries that were delivered"),
  delivered_rate: share(DELIVERED, 0.99),
  first_try_rate: share(FIRST_TRY, 0.97),
  attempt_count: Doc.count(100),
  success_count: Doc.count(99),
  failure_count: Doc.count(1),
  success_rate: share("Of the attempts, the share that succeeded; null without attempts", 0.99),
  latency_p50_ms: Doc.nullable(Type.Number({ minimum: 0, examples: [42.1] })),
  latency_p99_ms: Doc.nullable(Type.Number({ minimum: 0, examples: [198.6] })),
};

const BucketS = Type.Integer({ description: "The seconds that each entry of the series covers", examples: [60] });
const taken = {
  event_count: Doc.nullable(
    Type.Integer({
      minimum: 0,
      description: "Accepted events; null when asked for one tenant or subscription",
      examples: [100],
    }),
  ),
};

const Window = Doc.shape("StatisticsWindow", "Counters of attempts and their results", () => ({
  ...figures,
  bucket_s: BucketS,
  series: Type.Array(Doc.closed({ at: Doc.Time, ...figures }), { description: "Sorted by time, latest last" }),
}));

const windows = {
  last_1h: Window,
  last_24h: Window,
  latency_max_error: Type.Number({ description: "The largest relative error of a latency", examples: [LATENCY_ERROR] }),
};

const StatisticsSeries = Doc.shape("StatisticsSeries", () => ({
  window: Doc.choice(Object.keys(WINDOWS) as WindowName[]),
  ...figures,
  ...taken,
  bucket_s: BucketS,
  series: Type.Array(Doc.closed({ at: Doc.Time, ...figures, ...taken }), {
    description: "Sorted by time, latest last",
  }),
}));

const GatewayStatistics = Doc.shape("Statistics", () => ({
  tenant_id: Doc.nullable(Doc.text(EXAMPLE.tenant, "Null for all tenants")),
  events: Doc.closed({ accepted: Doc.count(100), unmatched: Doc.count(1), duplicates: Doc.Count }),
  deliveries: Doc.closed({
    created: Doc.count(99),
    open: Doc.Count,
    delivered: Doc.count(98),
    dead: Doc.count(1),
    cancelled: Doc.Count,
    dead_letters: Doc.countOf("Deliveries that are dead now; `dead` also counts those that were replayed since"),
  }),
  attempts: Doc.closed({ total: Doc.count(100), succeeded: Doc.count(99), failed: Doc.count(1) }),
  subscriptions: Doc.closed({ active: Doc.count(1), inactive: Doc.Count, suspended: Doc.Count }),
  ...windows,
}));

/** The example, with a day by hour. */
function withFigures(description: string, schema: TSchema, more: object = {}): Doc.AnswerDocs {
  return Doc.shows(schema, description, { ...more, last_24h: Doc.exampleOf(Window, { bucket_s: 3600 }) });
}

const Id = Type.Object({ id: Type.String() });
const GatewayQuery = Doc.optional({
  tenant_id: Type.String({ maxLength: 128, description: "Only figures of this tenant" }),
});

const SeriesQuery = Doc.optional({
  ...GatewayQuery.properties,
  window: oneOf(Object.keys(WINDOWS) as WindowName[], { default: "last_1h" }),
  subscription_id: Type.String({ maxLength: 128, description: "Only figures of this subscription" }),
});

export function addStatisticsRoutes(app: FastifyInstance, { statistics, subscriptions, store }: Parts): void {
  const route = routesOf(app, "Statistics");

  async function describe(subscriptionSeqs: readonly number[]) {
    const { last_1h, last_24h } = await statistics.describe(subscriptionSeqs);
    return { last_1h: presentWindow(last_1h), last_24h: presentWindow(last_24h), latency_max_error: LATENCY_ERROR };
  }

  route("GET /api/v1/subscriptions/:id/stats", READ, "Get success rates and latencies of a subscription", {
    params: Id,
    example: { params: { id: EXAMPLE.subscription } },
    answer: () =>
      withFigures(
        "Exact counters, and figures of the last hour by minute and of the last day by hour",
        Doc.shape("SubscriptionStatistics", () => ({
          subscription_id: Doc.text(EXAMPLE.subscription),
          ...CounterDocs,
          ...windows,
        })),
        { delivery_count: 100, success_count: 99, failure_count: 1, last_delivery: EXAMPLE.time, dead_count: 1 },
      ),
    async handle({ params, caller }) {
      const { id, seq } = subscriptions.getById(params.id, caller?.tenantId);
      const counters = sumOf(await store.reads.loadDeliveryCounters([seq]));
      return { subscription_id: id, ...presentCounters(counters), ...(await describe([seq])) };
    },
  });

  route("GET /api/v1/stats/series", READ, "Get received events and attempts over time", {
    query: SeriesQuery,
    example: { query: { window: "last_15m" } },
    answer: () => Doc.shows(StatisticsSeries, "Figures by minute for up to an hour, by hour for longer"),
    errors: ["not_found"],
    async handle({ query, caller }) {
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
  });

  route("GET /api/v1/stats", READ, "Get statistics of the gateway or of one tenant", {
    query: GatewayQuery,
    answer: () =>
      withFigures("Statistics of the key's tenant, of the tenant asked for, or of all tenants", GatewayStatistics),
    async handle({ query, caller }) {
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
          unmatched: total(ours.map((row) => row.unmatched - (tenantId === undefined ? row.operatorsOnly : 0))),
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
  });
}

type Counted = Pick<Figures, "attempts" | "failures">;

/** Exact even after a crash, because they are counted in the transaction of each attempt. */
export function presentCounters(counters: Sum = sumOf([])) {
  return {
    delivery_count: counters.attempts,
    success_count: counters.attempts - counters.failures,
    failure_count: counters.failures,
    last_delivery: isoTime(counters.lastAttemptAt) ?? null,
    open_count: countOpen(counters),
    dead_count: counters.deadLetters,
  };
}

/** A summary: latencies of the last 24 hours. */
export function presentSummary(summary: Summary | undefined) {
  return {
    delivered_rate_1h: presentEnded(summary?.lastHour).delivered_rate,
    delivered_rate_24h: presentEnded(summary?.lastDay).delivered_rate,
    first_try_rate_1h: presentEnded(summary?.lastHour).first_try_rate,
    first_try_rate_24h: presentEnded(summary?.lastDay).first_try_rate,
    success_rate_1h: rateOf(summary?.lastHour),
    success_rate_24h: rateOf(summary?.lastDay),
    latency_p50_ms: summary?.lastDay.p50Ms ?? null,
    latency_p99_ms: summary?.lastDay.p99Ms ?? null,
  };
}

function presentWindow({ spanMs, series, ...figures }: Window) {
  return {
    ...presentFigures(figures),
    bucket_s: spanMs / 1000,
    series: series.map(({ at, ...span }) => ({ at: isoTime(at), ...presentFigures(span) })),
  };
}

function presentFigures(figures: Figures) {
  return {
    ...presentEnded(figures),
    attempt_count: figures.attempts,
    success_count: figures.attempts - figures.failures,
    failure_count: figures.failures,
    success_rate: rateOf(figures),
    latency_p50_ms: figures.p50Ms ?? null,
    latency_p99_ms: figures.p99Ms ?? null,
  };
}

function presentEnded(figures: Pick<Figures, "ended"> | undefined) {
  const { first_try: first, later, dead } = figures?.ended ?? { first_try: 0, later: 0, dead: 0 };
  const delivered = first + later;
  return {
    delivered_count: delivered,
    delivered_rate: shareOf(delivered, delivered + dead),
    first_try_rate: shareOf(first, delivered + dead),
  };
}

/** From 0 to 1; null without attempts. */
function rateOf(counted: Counted | undefined): number | null {
  return counted === undefined ? null : shareOf(counted.attempts - counted.failures, counted.attempts);
}

function shareOf(count: number, all: number): number | null {
  return all === 0 ? null : Number((count / all).toFixed(4));
}

const COUNTERS = ["created", "delivered", "dead", "cancelled", "attempts", "failures", "deadLetters"] as const;
type Sum = Pick<DeliveryCounters, (typeof COUNTERS)[number] | "lastAttemptAt">;

function sumOf(rows: readonly DeliveryCounters[]): Sum {
  const last = rows.reduce((latest, { lastAttemptAt }) => Math.max(latest, lastAttemptAt ?? 0), 0);
  const sums = COUNTERS.map((name) => [name, total(rows.map((row) => row[name]))]);
  return { ...(Object.fromEntries(sums) as Omit<Sum, "lastAttemptAt">), lastAttemptAt: last === 0 ? undefined : last };
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
