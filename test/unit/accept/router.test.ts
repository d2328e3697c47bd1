import { describe, expect, it } from "vitest";
import type { Subscription } from "../../../src/model/subscription.ts";
import { createRouter } from "../../../src/accept/router.ts";

function subscription(seq: number, change: Partial<Subscription> = {}): Subscription {
  return { seq, tenantId: "default", events: ["#"], ordered: false, status: "active", ...change } as Subscription;
}

const seqs = (found: readonly Subscription[]) => found.map(({ seq }) => seq);

describe("the router", () => {
  it("finds who wants an event of a tenant", () => {
    const router = createRouter();
    router.update([
      subscription(1, { events: ["order.*"] }),
      subscription(2, { events: ["invoice.#", "order.paid"] }),
      subscription(3, { tenantId: "acme" }),
    ]);
    expect(seqs(router.match("default", "order.paid"))).toEqual([1, 2]);
    expect(seqs(router.match("default", "invoice.sent.late"))).toEqual([2]);
    expect(seqs(router.match("acme", "order.paid"))).toEqual([3]);
    expect(router.match("nobody", "order.paid")).toEqual([]);
  });

  it("finds those for all tenants and those for the tenant among others, in the usual order", () => {
    const router = createRouter();
    router.update([
      subscription(4, { tenantId: "_gateway", tenants: "*" }),
      subscription(1),
      subscription(3, { tenantId: "_gateway", tenants: ["acme", "farm", "acme"], ordered: true }),
      subscription(2, { tenantId: "acme", events: ["order.*"] }),
    ]);
    expect(seqs(router.match("default", "order.paid"))).toEqual([1, 4]);
    expect(seqs(router.match("acme", "order.paid"))).toEqual([3, 2, 4]);
    expect(seqs(router.match("farm", "milk.recorded"))).toEqual([3, 4]);
    expect(seqs(router.match("nobody", "order.paid"))).toEqual([4]);
    // Its own owner's events are among those of all tenants, and not among those of others.
    expect(seqs(router.match("_gateway", "order.paid"))).toEqual([4]);
  });

  it("finds one only once, whatever patterns of it match, and paused ones too", () => {
    const router = createRouter();
    router.update([subscription(1, { events: ["#", "order.*"], status: "suspended" })]);
    expect(seqs(router.match("default", "order.paid"))).toEqual([1]);
  });

  const event = (source: string, details?: string) => ({
    type: "order.paid",
    source,
    tenantId: "default",
    priority: "normal",
    contentType: undefined,
    request: undefined,
    details,
    body: undefined,
  });

  // shows: Q1
  it("asks for the source where a subscription wants only some", () => {
    const router = createRouter();
    router.update([
      subscription(1),
      subscription(2, { sources: ["shop", "erp"] }),
      subscription(3, { sources: ["shop.#"] }),
    ]);
    expect(seqs(router.select(event("shop")))).toEqual([1, 2, 3]);
    expect(seqs(router.select(event("shop.eu")))).toEqual([1, 3]);
    expect(seqs(router.select(event("api")))).toEqual([1]);
    expect(seqs(router.match("default", "order.paid"))).toEqual([1, 2, 3]);
  });

  // shows: Q2
  it("sends nothing back to the exchange or the queue that it was pulled from", () => {
    const [events, queue] = ["amqp:default:exchange:bus.events", "amqp:default:queue:webhook.delivery"];
    const router = createRouter();
    router.update([
      subscription(1, { queuePlace: events }),
      subscription(2, { queuePlace: queue }),
      subscription(3, { queuePlace: "amqp:other:exchange:bus.events" }),
      subscription(4),
    ]);
    const pulled = JSON.stringify({ hops: 1, pulled_from: [events, queue] });
    expect(seqs(router.select(event("bus", pulled)))).toEqual([3, 4]);
    // The control: what came another way goes there.
    expect(seqs(router.select(event("bus", '{"session_id":"pulled_from"}')))).toEqual([1, 2, 3, 4]);
  });

  it("puts ordered ones first, then goes by age", () => {
    const router = createRouter();
    router.update([
      subscription(4),
      subscription(2, { ordered: true }),
      subscription(1),
      subscription(3, { ordered: true }),
    ]);
    expect(seqs(router.match("default", "a"))).toEqual([2, 3, 1, 4]);
  });

  it("forwards the gateway's own events only to subscriptions that name them", () => {
    const router = createRouter();
    router.update([
      subscription(1, { events: ["webhook.*"] }),
      subscription(2, { events: ["webhook.*"], mode: "forward" }),
      subscription(3, { events: ["webhook.failing"], mode: "forward" }),
    ]);
    expect(seqs(router.match("default", "webhook.failing"))).toEqual([1, 3]);
    expect(seqs(router.match("default", "webhook.orders"))).toEqual([1, 2]);
  });

  it("forgets what it remembered when subscriptions change", () => {
    const router = createRouter();
    router.update([subscription(1)]);
    expect(seqs(router.match("default", "a"))).toEqual([1]);
    router.update([subscription(2)]);
    expect(seqs(router.match("default", "a"))).toEqual([2]);
  });

  it("answers the same for more types than it remembers", () => {
    const router = createRouter();
    router.update([subscription(1, { events: ["even.#"] })]);
    for (let i = 0; i < 20_001; i++) router.match("default", `odd.${i}`);
    expect(seqs(router.match("default", "even.1"))).toEqual([1]);
  });
});
