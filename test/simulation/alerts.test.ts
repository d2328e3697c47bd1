import { describe, expect, it } from "vitest";
import { DELIVERED, failed, gone, refused } from "../../src/model/outcome.ts";
import type { Subscription } from "../../src/model/subscription.ts";
import type { AlertRuleInput } from "../../src/model/alert.ts";
import { ALERT_RULE_NAMES, type AlertRuleName } from "../../src/model/alert-rules.ts";
import { EVERY_MS, openAlertWorld, type AlertWorld, type AlertWorldOptions } from "../support/alert-world.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { useFolder } from "../support/store-folder.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const folder = useFolder(MEMORY_FOLDER);

async function open(options: Omit<AlertWorldOptions, "folder"> = {}): Promise<AlertWorld> {
  const world = await openAlertWorld({ folder: folder.path, ...options });
  folder.onEnd(() => world.close());
  return world;
}

/** Only this rule counts: others see the same trouble. */
function only(...names: AlertRuleName[]): AlertRuleInput[] {
  return ALERT_RULE_NAMES.filter((name) => !names.includes(name)).map((rule) => ({ rule, enabled: false }));
}

async function sendFor(world: AlertWorld, minutes: number, perMinute: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    for (let n = 0; n < perMinute; n++) await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
  }
}

/** One attempt of so many fails, and is dead: nothing is tried again. */
function refuseEvery(world: AlertWorld, nth: number): void {
  let count = 0;
  world.wrongs.answer = () => (count++ % nth === 0 ? { outcome: refused("answered 400") } : undefined);
}

async function replayAll(world: AlertWorld, subscriptionSeq: number): Promise<void> {
  const page = { limit: 100, cursor: undefined };
  const { rows } = await world.gateway.store.reads.listDeadLetters({ subscriptionSeq }, page);
  for (const row of rows) await world.gateway.replays.replay(row);
}

describe("the rate of successes", () => {
  // shows: C58
  it.each([
    { every: 18, fires: true },
    { every: 20, fires: false },
  ])("below 95 % fires, above it does not: one of $every fails", async ({ every, fires }) => {
    const world = await open({ rules: only("success_rate") });
    await world.subscribe("shop");
    refuseEvery(world, every);
    await sendFor(world, 6, 40);
    expect(await world.rules()).toEqual(fires ? ["+success_rate"] : []);
    world.wrongs.answer = () => undefined;
    await sendFor(world, 8, 40);
    expect(await world.rules()).toEqual(fires ? ["+success_rate", "-success_rate"] : []);
  });

  it("says nothing of a few attempts", async () => {
    const world = await open({ rules: only("success_rate") });
    await world.subscribe("shop", { suspend_after_dead: null });
    refuseEvery(world, 1);
    for (let n = 0; n < 19; n++) await world.publish("shop.paid");
    await world.pass(2 * MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+success_rate"]);
  });

  it("does not flap where it goes up and down at the threshold", async () => {
    const rules = only("success_rate");
    const world = await open({ rules });
    await world.subscribe("shop");
    for (let round = 0; round < 4; round++) {
      refuseEvery(world, 18);
      await sendFor(world, 6, 30);
      // 95.2 %: better than the threshold, and not by the margin.
      refuseEvery(world, 21);
      await sendFor(world, 6, 30);
    }
    expect(await world.rules()).toEqual(["+success_rate"]);
  });

  it("flaps there without the margin and the evaluations in a row", async () => {
    const hasty = { rule: "success_rate", margin: 0, fires_after: 1, clears_after: 1, cool_down_s: 0 } as const;
    const world = await open({ rules: [...only("success_rate"), hasty] });
    await world.subscribe("shop");
    for (let round = 0; round < 3; round++) {
      refuseEvery(world, 18);
      await sendFor(world, 6, 30);
      refuseEvery(world, 21);
      await sendFor(world, 6, 30);
    }
    expect((await world.rules()).length).toBeGreaterThan(2);
  });
});

describe("the slowest hundredth of attempts", () => {
  it.each([
    { afterMs: 6000, fires: true },
    { afterMs: 4000, fires: false },
  ])("above 5 s fires: $afterMs ms", async ({ afterMs, fires }) => {
    const world = await open({ rules: only("latency_p99") });
    await world.subscribe("shop");
    let count = 0;
    world.wrongs.answer = () => (count++ % 20 === 0 ? { outcome: DELIVERED, afterMs } : undefined);
    await sendFor(world, 6, 30);
    expect(await world.rules()).toEqual(fires ? ["+latency_p99"] : []);
    world.wrongs.answer = () => undefined;
    await sendFor(world, 8, 30);
    expect(await world.rules()).toEqual(fires ? ["+latency_p99", "-latency_p99"] : []);
  });
});

describe("retries", () => {
  it.each([
    { every: 6, fires: true },
    { every: 15, fires: false },
  ])("beyond 10 % of the attempts fire: one of $every events needs one", async ({ every, fires }) => {
    const world = await open({ rules: only("retry_rate") });
    await world.subscribe("shop", { retry_policy: { delays_s: [1, 1] } });
    let count = 0;
    world.wrongs.answer = ({ number }) =>
      number === 1 && count++ % every === 0 ? { outcome: failed("answered 503", { says: "nothing" }) } : undefined;
    await sendFor(world, 6, 30);
    expect(await world.rules()).toEqual(fires ? ["+retry_rate"] : []);
    world.wrongs.answer = () => undefined;
    await sendFor(world, 8, 30);
    expect(await world.rules()).toEqual(fires ? ["+retry_rate", "-retry_rate"] : []);
  });
});

describe("dead letters", () => {
  // shows: B36
  it("fire with the first one, and clear when they were replayed", async () => {
    const world = await open({ rules: only("dead_letters") });
    const seq = await world.subscribe("shop");
    await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    refuseEvery(world, 1);
    await world.publish("shop.paid");
    await world.pass(EVERY_MS);
    expect(await world.told()).toEqual([{ type: "alert.fired", rule: "dead_letters", count: 1, causes: ["shop"] }]);
    world.wrongs.answer = () => undefined;
    await replayAll(world, seq);
    await world.pass(2 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+dead_letters", "-dead_letters"]);
  });

  it("are told again when there are more, not before the cool-down is over", async () => {
    const world = await open({ rules: only("dead_letters") });
    await world.subscribe("shop", { suspend_after_dead: null });
    refuseEvery(world, 1);
    await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
    await world.publish("shop.paid");
    await world.pass(10 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+dead_letters"]);
    await world.pass(10 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+dead_letters", "+dead_letters"]);
    await world.pass(2 * HOUR_MS);
    expect(await world.rules()).toHaveLength(2);
  });
});

describe("subscriptions", () => {
  it("that are suspended fire, and clear when they are resumed", async () => {
    const world = await open({ rules: only("subscription_suspended") });
    const seq = await world.subscribe("shop");
    world.wrongs.answer = () => ({ outcome: gone("answered 410") });
    await world.publish("shop.paid");
    await world.pass(EVERY_MS);
    expect(await world.rules()).toEqual(["+subscription_suspended"]);
    const subscription = world.gateway.subscriptions.find(seq);
    expect(subscription?.status).toBe("suspended");
    await world.gateway.subscriptions.setStatus({ id: subscription?.id ?? "", tenantId: "default" }, "active");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+subscription_suspended", "-subscription_suspended"]);
  });

  it("that are paused by hand fire nothing", async () => {
    const world = await open({ rules: only("subscription_suspended") });
    await world.subscribe("shop", { status: "inactive" });
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual([]);
  });

  it("that are half of the way to a suspension fire, and clear with a success", async () => {
    const world = await open({ rules: only("subscription_failing") });
    await world.subscribe("shop", { suspend_after_dead: 10 });
    refuseEvery(world, 1);
    for (let n = 0; n < 4; n++) await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+subscription_failing"]);
    world.wrongs.answer = () => undefined;
    await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+subscription_failing", "-subscription_failing"]);
  });
});

describe("a target in QUEUE", () => {
  it("fires after a minute, and clears when it is back", async () => {
    const world = await open({ rules: only("target_queue") });
    await world.subscribe("shop");
    world.wrongs.answer = () => ({ outcome: failed("connection refused", { says: "ill" }) });
    for (let n = 0; n < 5; n++) await world.publish("shop.paid");
    await world.pass(50_000);
    expect(world.gateway.targets.list(undefined)[0]?.state?.mode.isOpen).toBe(true);
    expect(await world.rules()).toEqual([]);
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+target_queue"]);
    world.wrongs.answer = () => undefined;
    await world.pass(30 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+target_queue", "-target_queue"]);
  });
});

describe("what others say is wrong", () => {
  it("fires for a source that its provider disabled, and clears when it is enabled", async () => {
    const world = await open({ rules: only("source_disabled") });
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    world.wrongs.disabledSources = [{ source: "sheets", tenantId: "acme", reason: "its callbacks failed" }];
    await world.pass(MINUTE_MS);
    expect([await world.rules(), await world.rules("acme")]).toEqual([["+source_disabled"], ["+source_disabled"]]);
    world.wrongs.disabledSources = [];
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled"]);
  });

  it("fires for a fallback queue that nobody empties, and clears when it is empty", async () => {
    const world = await open({ rules: only("fallback_not_drained") });
    const [shop, queue] = [await world.subscribe("shop"), await world.subscribe("queue")];
    const find = (seq: number) => world.gateway.subscriptions.find(seq) as Subscription;
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    world.wrongs.undrained = [{ forward: find(shop), fallback: find(queue), left: undefined, isHeld: false }];
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+fallback_not_drained"]);
    world.wrongs.undrained = [];
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+fallback_not_drained", "-fallback_not_drained"]);
  });

  it("fires for parked messages, and clears when there are none", async () => {
    const world = await open({ rules: only("parked_messages") });
    world.wrongs.parked = { orders: 0 };
    await world.pass(3 * MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    world.wrongs.parked = { orders: 3 };
    await world.pass(3 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+parked_messages"]);
    // A broker that is away says nothing of what is parked there.
    world.wrongs.parked = { orders: "the broker is away" };
    await world.restart();
    await world.pass(10 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+parked_messages"]);
    world.wrongs.parked = { orders: 0 };
    await world.pass(3 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+parked_messages", "-parked_messages"]);
  });

  it("fires for a broken validation file at once when it is told to look, and clears", async () => {
    const world = await open({ rules: only("validation_broken") });
    await world.pass(1000);
    world.wrongs.brokenFiles = [{ name: "orders.json", endpoint: "orders", reason: "does not compile" }];
    world.alerts.lookSoon("validation_broken");
    await world.pass(1);
    expect([await world.rules(), await world.rules("default")]).toEqual([
      ["+validation_broken"],
      ["+validation_broken"],
    ]);
    world.wrongs.brokenFiles = [];
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+validation_broken", "-validation_broken"]);
  });
});

describe("a blocked key queue", () => {
  it.each([
    { on_dead_head: "block", fires: true },
    { on_dead_head: "skip", fires: false },
  ])("fires where a dead letter holds others up: $on_dead_head", async ({ on_dead_head, fires }) => {
    const world = await open({ rules: only("key_queue_blocked") });
    const seq = await world.subscribe("shop", { ordered: true, on_dead_head });
    refuseEvery(world, 1);
    await world.publish("shop.paid", { ordering_key: "order-1" });
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(fires ? ["+key_queue_blocked"] : []);
    world.wrongs.answer = () => undefined;
    await replayAll(world, seq);
    await world.pass(2 * MINUTE_MS);
    expect(await world.rules()).toEqual(fires ? ["+key_queue_blocked", "-key_queue_blocked"] : []);
  });
});

describe("the disk", () => {
  it("fires below 512 MiB and clears with a margin", async () => {
    const world = await open({ rules: only("disk_low") });
    world.wrongs.freeMib = 512;
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    world.wrongs.freeMib = 511;
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+disk_low"]);
    world.wrongs.freeMib = 600;
    await world.pass(5 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+disk_low"]);
    world.wrongs.freeMib = 640;
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+disk_low", "-disk_low"]);
  });

  it("fires below its own mark whatever the threshold is", async () => {
    const world = await open({ rules: [...only("disk_low"), { rule: "disk_low", threshold: 1, margin: 0 }] });
    world.wrongs.freeMib = 300;
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    world.wrongs.freeMib = 200;
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+disk_low"]);
  });
});

describe("the oldest open delivery", () => {
  it("fires when it is older than the threshold, and clears when it is delivered", async () => {
    const world = await open({ rules: only("oldest_delivery") });
    await world.subscribe("shop", { retry_policy: { delays_s: [3600, 3600, 3600, 3600, 3600, 3600, 3600, 3600] } });
    world.wrongs.answer = () => ({ outcome: failed("answered 500", { says: "nothing" }) });
    await world.publish("shop.paid");
    await world.pass(6 * HOUR_MS - MINUTE_MS);
    expect(await world.rules()).toEqual([]);
    await world.pass(2 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+oldest_delivery"]);
    world.wrongs.answer = () => undefined;
    await world.pass(3 * HOUR_MS);
    expect(await world.rules()).toEqual(["+oldest_delivery", "-oldest_delivery"]);
  });

  it("is not one whose first try is yet to come", async () => {
    const world = await open({ rules: only("oldest_delivery") });
    await world.subscribe("shop");
    await world.publish("shop.paid", { deliver_at: new Date(world.now + DAY_MS).toISOString() });
    await world.pass(20 * HOUR_MS);
    expect(await world.rules()).toEqual([]);
  });
});

describe("the certificate of a destination", () => {
  it("fires 14 days before it ends, and clears when another one is shown", async () => {
    const world = await open({ rules: only("certificate_expiring") });
    await world.subscribe("shop");
    world.showCertificate("shop.example", world.now + 15 * DAY_MS);
    world.showCertificate("elsewhere.example", world.now + DAY_MS);
    await world.pass(HOUR_MS);
    expect(await world.rules()).toEqual([]);
    await world.pass(DAY_MS);
    expect(await world.told()).toEqual([
      { type: "alert.fired", rule: "certificate_expiring", count: 1, causes: ["shop.example"] },
    ]);
    // Nothing was sent there since the restart: it is not known whether there is another one.
    await world.restart();
    await world.pass(HOUR_MS);
    expect(await world.rules()).toEqual(["+certificate_expiring"]);
    world.showCertificate("shop.example", world.now + 90 * DAY_MS);
    await world.pass(HOUR_MS);
    expect(await world.rules()).toEqual(["+certificate_expiring", "-certificate_expiring"]);
  });
});

describe("a secret that should be rotated", () => {
  it.each([
    { listens: false, fires: true },
    { listens: true, fires: false },
  ])("fires unless somebody is told: $listens", async ({ listens, fires }) => {
    const world = await open({ rules: only("secret_overdue"), rotateAfterMs: 2 * HOUR_MS });
    const seq = await world.subscribe("shop");
    if (listens) await world.subscribe("owner", { events: ["webhook.secret_rotating"] });
    await world.pass(HOUR_MS);
    expect(await world.rules()).toEqual([]);
    await world.pass(2 * HOUR_MS);
    expect(await world.rules()).toEqual(fires ? ["+secret_overdue"] : []);
    const subscription = world.gateway.subscriptions.find(seq);
    if (subscription !== undefined) await world.rotation.rotate(subscription);
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(fires ? ["+secret_overdue", "-secret_overdue"] : []);
  });
});
