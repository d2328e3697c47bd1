import { parseFilter } from "../../dist/model/filter.js";
import { createRouter } from "../../dist/accept/router.js";
import { describeLatencies, median } from "../statistics.mjs";

const TENANTS = 100;
const SUBSCRIPTIONS = 10_000;
const EVENTS = 5000;
const CHANGES = 200;

const BODY = Buffer.from(
  JSON.stringify({
    order: { id: 4711, total: 250, items: ["a", "b"] },
    customer: { tier: "gold" },
    text: "x".repeat(900),
  }),
);

/** How long it takes to find the subscriptions of one event among many; every other one has a filter on the body. */
export async function measureRouting({ plan }) {
  const rounds = [];
  for (let i = 0; i <= plan.rounds; i++) {
    const round = measureRound();
    // The first warms up.
    if (i > 0) rounds.push(round);
  }
  const typical = (name, share) => median(rounds.map((round) => round[name][share]));
  const row = (figure, name, note) => ({
    figure,
    value: typical(name, "p99Ms"),
    unit: "ms",
    must: 2,
    isLowerBetter: true,
    note: `median ${typical(name, "p50Ms").toFixed(3)} ms; ${note}`,
  });
  const matches = median(rounds.map((round) => round.matches));
  return {
    rows: [
      row("routing among 10,000 subscriptions, p99", "known", `${matches} of 100 of the tenant match`),
      row("  a type that was never seen", "unseen", "every pattern of the tenant is tried"),
      row("  the first event after a change", "changed", "of any subscription"),
      row("  a type that nobody filters", "unfiltered", "the body is not looked at"),
    ],
    details: { rounds },
  };
}

function measureRound() {
  const subscriptions = Array.from({ length: SUBSCRIPTIONS }, (_, i) => createSubscription(i));
  const router = createRouter();
  router.update(subscriptions);
  const found = router.select(createEvent(0, "order.created")).length;
  const measure = (count, prepare) => {
    const us = [];
    for (let i = 0; i < count; i++) {
      const event = prepare(i);
      // Of the processor, garbage collection included: so short a time by the clock says more of what else is running.
      const before = process.cpuUsage();
      router.select(event);
      const { user, system } = process.cpuUsage(before);
      us.push(user + system);
    }
    return describeLatencies(us);
  };
  return {
    matches: found,
    known: measure(EVENTS, (i) => createEvent(i, "order.created")),
    unseen: measure(EVENTS, (i) => createEvent(i, `order.created.v${i}`)),
    changed: measure(CHANGES, (i) => {
      subscriptions[i] = { ...subscriptions[i] };
      router.update([...subscriptions]);
      return createEvent(i, "order.created");
    }),
    unfiltered: measure(EVENTS, (i) => createEvent(i, "invoice.sent")),
  };
}

function createSubscription(i) {
  const kind = Math.floor(i / TENANTS) % 4;
  const patterns = [["order.#"], ["order.created", "order.paid"], ["*.created", "stock.#"], ["invoice.*"]];
  return {
    seq: i + 1,
    tenantId: `tenant-${i % TENANTS}`,
    events: patterns[kind],
    filter: kind < 2 ? parseFilter({ data: { order: { total: { $gt: i % 500 } } } }) : undefined,
    ordered: false,
  };
}

function createEvent(i, type) {
  return {
    type,
    source: "bench",
    tenantId: `tenant-${i % TENANTS}`,
    priority: "normal",
    contentType: "application/json",
    request: undefined,
    details: undefined,
    body: BODY,
  };
}
