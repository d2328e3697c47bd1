import { describe, expect, it } from "vitest";
import {
  findForwardRival,
  checkFallback,
  checkNoEvents,
  checkUsedFallback,
  type FallbackFacts,
  type OwnFacts,
  type QueueKinds,
} from "../../../src/model/forward-rules.ts";

const forward = (...events: string[]) => ({ mode: "forward" as const, events });
const queue = (...events: string[]) => ({ mode: "queue" as const, events });

describe("two subscriptions that forward", () => {
  it("are rivals when they have a pattern in common, or one of them is for everything", () => {
    const orders = forward("webhook.orders", "webhook.refunds");
    expect(findForwardRival(forward("webhook.refunds"), [orders])).toBe(orders);
    expect(findForwardRival(forward("*"), [orders])).toBe(orders);
    expect(findForwardRival(forward("webhook.users"), [forward("#")])).toEqual(forward("#"));
  });

  it("may be there side by side otherwise, also where their patterns might overlap", () => {
    expect(
      findForwardRival(forward("webhook.users"), [forward("webhook.orders"), forward("webhook.*")]),
    ).toBeUndefined();
    expect(findForwardRival(forward("*"), [queue("*")])).toBeUndefined();
    expect(findForwardRival(queue("*"), [forward("*")])).toBeUndefined();
    expect(findForwardRival(forward("*"), [])).toBeUndefined();
  });

  it("are none when no source is meant by both", () => {
    const shop = { ...forward("*"), sources: ["shop"] };
    expect(findForwardRival({ ...forward("*"), sources: ["erp"] }, [shop])).toBeUndefined();
    expect(findForwardRival({ ...forward("*"), sources: ["*"] }, [shop])).toBe(shop);
    expect(findForwardRival(forward("*"), [shop])).toBe(shop);
  });
});

const KINDS: QueueKinds = {
  isQueue: (kind) => kind === "queue",
  isCountable: ({ destination }) => destination === undefined,
  maxBytesOf: () => undefined,
};
const HOME: FallbackFacts = { name: "home", kind: "queue", events: [] };
const FORWARD: OwnFacts = {
  name: "n8n",
  kind: "http",
  events: ["#"],
  mode: "forward",
  fallback: "home",
  isChecked: true,
};

describe("a fallback", () => {
  // shows: Q34
  it("is a queue without events of its own, for one forward that has a health check", () => {
    expect(checkFallback(FORWARD, [HOME], KINDS)).toEqual([]);
    expect(checkFallback({ ...FORWARD, fallback: null }, [], KINDS)).toEqual([]);
    expect(checkFallback({ ...FORWARD, ordered: true }, [{ ...HOME, ordered: true }], KINDS)).toEqual([]);
    expect(checkFallback(FORWARD, [{ ...HOME, destination: { exchange: "bus" } }], KINDS)).toEqual([]);
  });

  // shows: Q71
  it.each<[string, Partial<OwnFacts>, FallbackFacts[]]>([
    ["mode: forward", { mode: "queue" }, [HOME]],
    ["health", { isChecked: false }, [HOME]],
    ["there is no subscription", {}, []],
    ["of the kind http", {}, [{ ...HOME, kind: "http" }]],
    ["events of its own", {}, [{ ...HOME, events: ["order.*"] }]],
    ['the fallback of "other"', {}, [HOME, { name: "other", kind: "http", events: ["#"], fallback: "home" }]],
    ["ordered", { ordered: true }, [HOME]],
    ["cannot be counted", { ordered: true }, [{ ...HOME, ordered: true, destination: { exchange: "bus" } }]],
  ])("is rejected with the reason: %s", (reason, change, others) => {
    const problems = checkFallback({ ...FORWARD, ...change }, others, KINDS);
    expect(problems).toEqual([{ field: "fallback", message: expect.stringContaining(reason) }]);
  });

  it("keeps what the forward needs of it", () => {
    expect(checkUsedFallback(HOME, FORWARD, KINDS)).toEqual([]);
    expect(checkUsedFallback({ ...HOME, events: ["#"] }, FORWARD, KINDS)[0]?.field).toBe("events");
    expect(checkUsedFallback(HOME, { ...FORWARD, ordered: true }, KINDS)[0]?.field).toBe("ordered");
    const bus = { ...HOME, ordered: true, destination: { exchange: "bus" } };
    expect(checkUsedFallback(bus, { ...FORWARD, ordered: true }, KINDS)[0]?.field).toBe("destination.exchange");
    expect(checkUsedFallback(bus, FORWARD, KINDS)).toEqual([]);
  });
});

describe("a subscription without events", () => {
  it("is a queue, and chooses among nothing", () => {
    expect(checkNoEvents(HOME, KINDS)).toEqual([]);
    expect(checkNoEvents({ ...HOME, kind: "http" }, KINDS)[0]?.field).toBe("events");
    expect(checkNoEvents({ ...HOME, sources: ["shop"] }, KINDS)[0]?.field).toBe("sources");
    expect(checkNoEvents({ ...HOME, event_filter: {} }, KINDS)[0]?.field).toBe("event_filter");
    expect(checkNoEvents({ ...HOME, kind: "http", events: ["#"], sources: ["shop"] }, KINDS)).toEqual([]);
  });
});
