import type { Sample } from "./sample.ts";

export const cloudevents: Sample = {
  kind: "cloudevents",
  needsSecret: false,
  events: {
    "order.created": ({ at, id }) => ({
      headers: { "content-type": "application/cloudevents+json" },
      body: {
        specversion: "1.0",
        id,
        source: "/shop",
        type: "com.example.OrderCreated",
        time: new Date(at).toISOString(),
        datacontenttype: "application/json",
        data: { order: 1042, total: 12.5 },
      },
    }),
  },
  sign: (_request, { secret }) => ({ headers: { authorization: `Bearer ${secret}` } }),
};
