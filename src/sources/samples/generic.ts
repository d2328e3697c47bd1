import type { Sample } from "./sample.ts";

const events: Sample["events"] = {
  order: ({ id }) => ({ headers: { "x-request-id": id }, body: { id, event: "order.created", total: 12.5 } }),
};

/** Anybody who sends JSON. */
export const generic: Sample = { kind: "generic", needsSecret: false, events };
export const none: Sample = { kind: "none", needsSecret: false, events };
