import { describe, expect, it } from "vitest";
import { namedCredentials } from "../../../src/destinations/forward.ts";
import { createForwards, createForwarding, type Forwarding } from "../../../src/accept/forwarding.ts";
import type { ForwardResult } from "../../../src/model/forward-rules.ts";
import type { Source } from "../../../src/model/source.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import { createRouter } from "../../../src/accept/router.ts";
import type { NewEvent } from "../../../src/store/port/event-log.ts";
import { DOWN, OK, refused, useDeliveryBench } from "../../support/delivery-bench.ts";
import { newEvent } from "../../support/store-fixtures.ts";

const openBench = useDeliveryBench();

async function open(subscription: Partial<Subscription> = {}) {
  let record: ReturnType<typeof createForwards>["recordAttempt"] = () => undefined;
  const bench = await openBench({
    onAttempt: ({ seq }, delivery, _, settlement) =>
      record(delivery.event.id, seq, settlement.verdict === "delivered" ? "forwarded" : "queued"),
  });
  const forwards = createForwards({ clock: bench.clock });
  record = forwards.recordAttempt;
  const all = () => [...bench.subscriptions()];
  const forwarding = createForwarding({
    forwards,
    credentials: { seal: () => "" },
    governor: { recordAwaited: () => undefined },
    router: createRouter(),
    scheduler: bench.scheduler,
    subscriptions: {
      list: all,
      findFallback: (one) => all().find(({ name }) => name === one.fallback),
      find: (seq) => all().find((one) => one.seq === seq),
    },
  });
  const forwarder = await bench.subscribe({ mode: "forward", ...subscription });
  /** By event: what its sender was told, and after how many milliseconds. */
  const answers = new Map<string, [what: ForwardResult, tookMs: number]>();
  const receive = async (id: string, change: Partial<NewEvent> = {}, source: Partial<Source> = {}) => {
    const now = bench.clock.now();
    const event = newEvent({ id, origin: "webhook", request: "{}", receivedAt: now, dueAt: now, ...change });
    bench.fanOut.accept(event, (result) => {
      const forward = result.kind === "stored" ? result.forward : undefined;
      if (forward === undefined) throw new Error("nobody forwards it");
      forwarding.wait(event, forward, source as Source, (result) => answers.set(id, [result, bench.clock.now() - now]));
    });
    await bench.settle();
  };
  return { bench, forwarder, forwarding, answers, receive };
}

describe("the sender of a webhook that is forwarded", () => {
  it("is told as soon as the first attempt has an outcome", async () => {
    const { bench, answers, receive } = await open();
    bench.answerWith(({ eventId }) => (eventId === "good" ? OK : refused(500)), 40);
    await receive("good");
    await receive("bad");
    await bench.move(40);
    expect(Object.fromEntries(answers)).toEqual({ good: ["forwarded", 40], bad: ["queued", 40] });
  });

  it("waits no longer than its source says, and the attempt goes on", async () => {
    const { bench, forwarder, answers, receive } = await open();
    bench.answerWith(() => OK, 5000);
    await receive("a", {}, { answerWithinMs: 3000 });
    await bench.move(3000);
    expect(answers.get("a")).toEqual(["queued", 3000]);
    await bench.move(2000);
    expect(await bench.stateOf(1, forwarder)).toBe("delivered");
  });

  it("waits behind others of its ordering key, as long as there is time", async () => {
    const { bench, answers, receive } = await open({ ordered: true });
    bench.answerWith(() => OK, 4000);
    for (const id of ["first", "second", "third"]) await receive(id, { orderingKey: "k" });
    await receive("other", { orderingKey: "l" });
    await bench.move(30_000);
    expect(Object.fromEntries(answers)).toEqual({
      first: ["forwarded", 4000],
      second: ["forwarded", 8000],
      third: ["queued", 10_000],
      other: ["forwarded", 4000],
    });
    expect(bench.sent).toEqual(["first", "other", "second", "third"]);
  });

  it("is told at once that it waits behind a backlog", async () => {
    const { bench, forwarder, answers, receive } = await open({ concurrency: 1 });
    const ids = Array.from({ length: 60 }, (_, i) => `old-${i}`);
    await bench.change(forwarder, { status: "inactive" });
    await bench.publishAll(ids);
    await receive("paused");
    expect(answers.get("paused")).toEqual(["queued", 0]);
    await bench.change(forwarder, { status: "active" });
    await receive("late");
    expect(answers.get("late")).toEqual(["queued", 0]);
  });

  it("waits for a rate limit only where that lets it through in time", async () => {
    const { bench, answers, receive } = await open({ rateLimitPerMinute: 2 });
    bench.answerWith(() => OK);
    await receive("a");
    await bench.move(25_000);
    await receive("b");
    await bench.move(10_000);
    await receive("c");
    await bench.move(60_000);
    expect(answers.get("a")).toEqual(["forwarded", 1]);
    expect(answers.get("b")?.[0]).toBe("forwarded");
    expect(answers.get("c")).toEqual(["queued", 0]);
  });

  it("is told at once while the target is down", async () => {
    const { bench, answers, receive } = await open();
    bench.answerWith(() => DOWN);
    for (const id of ["a", "b", "c"]) {
      await receive(id);
      await bench.move(1);
    }
    expect(bench.told).toEqual(["sub-1 opened"]);
    await receive("d");
    expect(answers.get("d")).toEqual(["queued", 0]);
    expect(bench.sent).not.toContain("d");
  });

  it("is let go when the subscription is paused", async () => {
    const { bench, forwarder, forwarding, answers, receive } = await open();
    await receive("a");
    forwarding.refresh(forwarder);
    expect(answers.size).toBe(0);
    await bench.change(forwarder, { status: "inactive" });
    forwarding.refresh(forwarder);
    expect(answers.get("a")).toEqual(["queued", 0]);
  });

  it("makes the request known to the first attempt, and costs other subscriptions nothing", async () => {
    const { bench, forwarder, receive } = await open();
    const queue = await bench.subscribe();
    await receive("a", { request: '{"method":"PUT"}' });
    const requests = bench.flights.map(({ subscription, delivery }) => [subscription.seq, delivery.request]);
    expect(new Map(requests as [number, unknown][])).toEqual(
      new Map([
        [forwarder.seq, '{"method":"PUT"}'],
        [queue.seq, undefined],
      ]),
    );
  });
});

describe("credentials that are to be handed on", () => {
  function build(forwardHeaders: readonly string[] | undefined, ofFallback?: readonly string[]) {
    const sealed: object[] = [];
    const credentials = namedCredentials(forwardHeaders);
    const part: Partial<Subscription> = { seq: 1, tenantId: "t", events: ["#"], mode: "forward", credentials };
    const subscription = part as Subscription;
    const asking: Partial<Subscription> = { seq: 2, events: [], credentials: namedCredentials(ofFallback) };
    const fallback = ofFallback && (asking as Subscription);
    const all = fallback === undefined ? [subscription] : [subscription, { ...fallback, tenantId: "t" }];
    const router = createRouter();
    router.update(all);
    const options = {
      forwards: createForwards({
        clock: { now: () => 0, wall: () => 0, setTimer: () => ({ cancel: () => undefined }) },
      }),
      credentials: {
        seal(_: unknown, credentials: object) {
          sealed.push(credentials);
          return "c2VhbGVk";
        },
      },
      governor: { recordAwaited: () => undefined },
      router,
      scheduler: { findMode: () => undefined, isBehind: () => false },
      subscriptions: {
        list: () => all,
        findFallback: ({ seq }: Subscription) => (seq === 1 ? fallback : undefined),
        find: () => subscription,
      },
    };
    return { sealed, forwarding: createForwarding(options) };
  }

  const keep = (forwarding: Forwarding, headers: Record<string, string>) => {
    const event = newEvent({ tenantId: "t", request: '{"method":"POST"}' });
    const kept = forwarding.keepCredentials(Object.freeze(event), headers);
    return kept.request;
  };

  it("are sealed beside the request, and only those", () => {
    const { sealed, forwarding } = build(["*", "authorization", "x-shop"]);
    expect(keep(forwarding, { authorization: "Bearer x", cookie: "y", "x-shop": "z" })).toBe(
      '{"method":"POST","sealed":"c2VhbGVk"}',
    );
    expect(sealed).toEqual([{ authorization: "Bearer x" }]);
    expect(keep(forwarding, { cookie: "y" })).toBe('{"method":"POST"}');
  });

  it("are kept for a fallback, which asks for no events itself", () => {
    const { sealed, forwarding } = build(["authorization"], ["cookie"]);
    keep(forwarding, { authorization: "Bearer x", cookie: "y", "x-shop": "z" });
    expect(sealed).toEqual([{ authorization: "Bearer x", cookie: "y" }]);
  });

  it("are none unless somebody names them", () => {
    const { sealed, forwarding } = build(undefined);
    expect(keep(forwarding, { authorization: "Bearer x" })).toBe('{"method":"POST"}');
    expect(sealed).toEqual([]);
  });
});
