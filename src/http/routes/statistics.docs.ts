import { Type } from "typebox";
import { LATENCY_ERROR } from "../../domain/latency-histogram.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import { Count, Time, closed, named, nullable, type AreaDocs } from "../openapi/operation-docs.ts";

/** What `presentCounters` shows. */
export const CounterDocs = {
  delivery_count: Type.Integer({ minimum: 0, description: "Attempts" }),
  success_count: Count,
  failure_count: Count,
  last_delivery: nullable(Time),
  open_count: Count,
  dead_count: Count,
};

const figures = {
  attempt_count: Count,
  success_count: Count,
  failure_count: Count,
  success_rate: nullable(Type.Number({ minimum: 0, maximum: 1, description: "Null without attempts" })),
  latency_p50_ms: nullable(Type.Number({ minimum: 0 })),
  latency_p99_ms: nullable(Type.Number({ minimum: 0 })),
};

const Window = named(
  "StatisticsWindow",
  closed(
    {
      ...figures,
      bucket_s: Type.Integer({ description: "Seconds that each of the series stands for" }),
      series: Type.Array(closed({ at: Time, ...figures }), { description: "The latest last" }),
    },
    "What attempts came to",
  ),
);

const windows = {
  last_1h: Window,
  last_24h: Window,
  latency_max_error: Type.Number({ description: "What a latency may be off by, as a share of it" }),
};

const FIGURES = {
  attempt_count: 100,
  success_count: 99,
  failure_count: 1,
  success_rate: 0.99,
  latency_p50_ms: 42.1,
  latency_p99_ms: 198.6,
};
const WINDOWS = {
  last_1h: { ...FIGURES, bucket_s: 60, series: [{ at: EXAMPLE.time, ...FIGURES }] },
  last_24h: { ...FIGURES, bucket_s: 3600, series: [{ at: EXAMPLE.time, ...FIGURES }] },
  latency_max_error: LATENCY_ERROR,
};

export const STATISTICS_DOCS: AreaDocs = {
  tag: "Statistics",
  description: "Success rates and latencies, over time",
  operations: {
    "GET /api/v1/subscriptions/:id/stats": {
      params: { id: EXAMPLE.subscription },
      answer: {
        status: 200,
        description: "Exact counters; figures of the last hour by minute, of the last day by hour",
        schema: named(
          "SubscriptionStatistics",
          closed({
            subscription_id: Type.String(),
            ...CounterDocs,
            ...windows,
          }),
        ),
        example: {
          subscription_id: EXAMPLE.subscription,
          delivery_count: 100,
          success_count: 99,
          failure_count: 1,
          last_delivery: EXAMPLE.time,
          open_count: 0,
          dead_count: 1,
          ...WINDOWS,
        },
      },
    },
    "GET /api/v1/stats": {
      answer: {
        status: 200,
        description: "Of the key's tenant, of the one that is asked for, or of all",
        schema: named(
          "Statistics",
          closed({
            tenant_id: nullable(Type.String({ description: "Null: of all tenants" })),
            events: closed({ accepted: Count, unmatched: Count, duplicates: Count }),
            deliveries: closed({ created: Count, open: Count, delivered: Count, dead: Count, cancelled: Count }),
            attempts: closed({ total: Count, succeeded: Count, failed: Count }),
            subscriptions: closed({ active: Count, inactive: Count, suspended: Count }),
            ...windows,
          }),
        ),
        example: {
          tenant_id: EXAMPLE.tenant,
          events: { accepted: 100, unmatched: 1, duplicates: 0 },
          deliveries: { created: 99, open: 0, delivered: 98, dead: 1, cancelled: 0 },
          attempts: { total: 100, succeeded: 99, failed: 1 },
          subscriptions: { active: 1, inactive: 0, suspended: 0 },
          ...WINDOWS,
        },
      },
    },
  },
};
