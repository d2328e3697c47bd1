import { Type, type TSchema } from "typebox";
import { LATENCY_ERROR } from "../../model/latency-histogram.ts";
import { WINDOWS, type WindowName } from "../../jobs/statistics.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  Time,
  closed,
  count,
  named,
  nullable,
  oneOf,
  text,
  type AnswerDocs,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { exampleOf } from "../openapi/shown.ts";

/** The result of `presentCounters`. */
export const CounterDocs = {
  delivery_count: Type.Integer({ minimum: 0, description: "Attempts" }),
  success_count: Count,
  failure_count: Count,
  last_delivery: nullable(Time),
  open_count: Count,
  dead_count: Count,
};

const share = (description: string, example: number) =>
  nullable(Type.Number({ minimum: 0, maximum: 1, description, examples: [example] }));

/** Shares of deliveries, not of attempts. */
export const DELIVERED = "Of the deliveries that ended, the share that was delivered; null when none ended";
export const FIRST_TRY = "The same for those that were delivered at the first try";

const figures = {
  delivered_count: count(98, "Deliveries that were delivered"),
  delivered_rate: share(DELIVERED, 0.99),
  first_try_rate: share(FIRST_TRY, 0.97),
  attempt_count: count(100),
  success_count: count(99),
  failure_count: count(1),
  success_rate: share("Of the attempts, the share that succeeded; null without attempts", 0.99),
  latency_p50_ms: nullable(Type.Number({ minimum: 0, examples: [42.1] })),
  latency_p99_ms: nullable(Type.Number({ minimum: 0, examples: [198.6] })),
};

const BucketS = Type.Integer({ description: "The seconds that each entry of the series covers", examples: [60] });
const taken = {
  event_count: nullable(
    Type.Integer({
      minimum: 0,
      description: "Accepted events; null when asked for one tenant or subscription",
      examples: [100],
    }),
  ),
};

const Window = named(
  "StatisticsWindow",
  closed(
    {
      ...figures,
      bucket_s: BucketS,
      series: Type.Array(closed({ at: Time, ...figures }), { description: "Sorted by time, latest last" }),
    },
    "Counters of attempts and their results",
  ),
);

const windows = {
  last_1h: Window,
  last_24h: Window,
  latency_max_error: Type.Number({
    description: "The largest relative error of a latency",
    examples: [LATENCY_ERROR],
  }),
};

const StatisticsSeries = named(
  "StatisticsSeries",
  closed({
    window: oneOf(Object.keys(WINDOWS) as WindowName[]),
    ...figures,
    ...taken,
    bucket_s: BucketS,
    series: Type.Array(closed({ at: Time, ...figures, ...taken }), { description: "Sorted by time, latest last" }),
  }),
);

const GatewayStatistics = named(
  "Statistics",
  closed({
    tenant_id: nullable(text(EXAMPLE.tenant, "Null for all tenants")),
    events: closed({ accepted: count(100), unmatched: count(1), duplicates: Count }),
    deliveries: closed({
      created: count(99),
      open: Count,
      delivered: count(98),
      dead: count(1),
      cancelled: Count,
      dead_letters: Type.Integer({
        minimum: 0,
        description: "Deliveries that are dead now; `dead` also counts those that were replayed since",
      }),
    }),
    attempts: closed({ total: count(100), succeeded: count(99), failed: count(1) }),
    subscriptions: closed({ active: count(1), inactive: Count, suspended: Count }),
    ...windows,
  }),
);

/** The example, with a day by hour. */
function describe(description: string, schema: TSchema, more: object = {}): AnswerDocs {
  const example = { ...exampleOf(schema), ...more, last_24h: { ...exampleOf(Window), bucket_s: 3600 } };
  return { description, schema, example };
}

export const STATISTICS_DOCS: AreaDocs = {
  tag: "Statistics",
  description: "Success rates and latencies, over time",
  operations: {
    "GET /api/v1/subscriptions/:id/stats": {
      params: { id: EXAMPLE.subscription },
      answer: describe(
        "Exact counters, and figures of the last hour by minute and of the last day by hour",
        named(
          "SubscriptionStatistics",
          closed({ subscription_id: text(EXAMPLE.subscription), ...CounterDocs, ...windows }),
        ),
        { delivery_count: 100, success_count: 99, failure_count: 1, last_delivery: EXAMPLE.time, dead_count: 1 },
      ),
    },
    "GET /api/v1/stats/series": {
      query: { window: "last_15m" },
      answer: {
        description: "Figures by minute for up to an hour, by hour for longer",
        schema: StatisticsSeries,
      },
      errors: ["not_found"],
    },
    "GET /api/v1/stats": {
      answer: describe("Statistics of the key's tenant, of the tenant asked for, or of all tenants", GatewayStatistics),
    },
  },
};
