import { describe, expect, it } from "vitest";
import { toActiveRules, type AlertRuleInput, toChannelSubscription } from "../../src/model/alert.ts";
import { GATEWAY_TENANT } from "../../src/model/event.ts";
import { ALERT_RULE_NAMES, type AlertRuleName } from "../../src/model/alert-rules.ts";
import { failed, refused } from "../../src/model/outcome.ts";
import type { openAlerts } from "../../src/alerts/alerts.ts";
import { EVERY_MS, openAlertWorld, type AlertWorld, type AlertWorldOptions } from "../support/alert-world.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { useFolder } from "../support/store-folder.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const folder = useFolder(MEMORY_FOLDER);

async function open(options: Omit<AlertWorldOptions, "folder"> = {}): Promise<AlertWorld> {
  const world = await openAlertWorld({ folder: folder.path, ...options });
  folder.onEnd(() => world.close());
  return world;
}

function only(...names: AlertRuleName[]): AlertRuleInput[] {
  return ALERT_RULE_NAMES.filter((name) => !names.includes(name)).map((rule) => ({ rule, enabled: false }));
}

/** Sources that their providers have disabled. */
function disable(world: AlertWorld, ...names: string[]): void {
  world.wrongs.disabledSources = names.map((source) => ({ source, tenantId: "default", reason: "callbacks failed" }));
}

function firstOf(world: AlertWorld, tenantId = "") {
  const [alert] = world.alerts.list(tenantId);
  if (alert === undefined) throw new Error("there is no alert");
  return alert;
}

describe("a restart", () => {
  it.each(["stop", "kill"] as const)("forgets no alert and fires none again: %s", async (how) => {
    const world = await open();
    disable(world, "one", "two");
    await world.pass(MINUTE_MS);
    const { id } = firstOf(world);
    await world.restart(how);
    expect(firstOf(world).id).toBe(id);
    await world.pass(2 * HOUR_MS);
    expect(await world.rules()).toEqual(["+source_disabled"]);
    await world.restart(how);
    disable(world);
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled"]);
    expect(firstOf(world)).toMatchObject({ id, clearedAt: expect.any(Number) as number });
    expect(world.faults).toEqual([]);
  });

  it("fires again where alerts are not kept", async () => {
    const world = await open({ makeAlerts: forgetful });
    disable(world, "one");
    await world.pass(MINUTE_MS);
    await world.restart();
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+source_disabled", "+source_disabled"]);
  });

  it("ends no alert of attempts before as much is known as before", async () => {
    const world = await open({ rules: only("success_rate") });
    await world.subscribe("shop", { suspend_after_dead: null });
    world.wrongs.answer = () => ({ outcome: refused("answered 400") });
    for (let n = 0; n < 40; n++) await world.publish("shop.paid");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+success_rate"]);
    await world.restart("kill");
    await world.pass(4 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+success_rate"]);
    await world.pass(3 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+success_rate", "-success_rate"]);
  });
});

describe("a hundred causes of a kind", () => {
  it("are one message, which names twenty and counts them all", async () => {
    const world = await open({ rules: only("dead_letters") });
    world.wrongs.answer = () => ({ outcome: refused("answered 400") });
    for (let n = 0; n < 100; n++) await world.subscribe(`shop ${n}`, { events: ["shop.paid"] });
    await world.publish("shop.paid");
    await world.pass(HOUR_MS);
    const told = await world.told();
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ count: 100 });
    expect(told[0]?.causes).toHaveLength(20);
    await world.restart();
    await world.pass(HOUR_MS);
    expect(await world.told()).toHaveLength(1);
  });

  it("of many tenants are one message for those who run the gateway, and one for each tenant with its own only", async () => {
    const world = await open({ rules: only("dead_letters") });
    world.wrongs.answer = () => ({ outcome: refused("answered 400") });
    for (const tenant_id of ["acme", "globex"]) {
      await world.subscribe(`shop of ${tenant_id}`, { events: ["shop.paid"], tenant_id });
      await world.publish("shop.paid", { tenant_id });
    }
    await world.pass(MINUTE_MS);
    const causesOf = async (tenantId?: string) => (await world.told(tenantId)).map(({ causes }) => causes.toSorted());
    expect(await causesOf()).toEqual([["shop of acme", "shop of globex"]]);
    expect(await causesOf("acme")).toEqual([["shop of acme"]]);
    expect(await causesOf("globex")).toEqual([["shop of globex"]]);
    expect(await causesOf("default")).toEqual([]);
    expect(world.alerts.list("acme")).toHaveLength(1);
    expect(() => world.alerts.get(firstOf(world, "globex").id, "acme")).toThrow("There is no alert");
  });
});

describe("the cool-down", () => {
  it("keeps what comes and goes from being told each time", async () => {
    const world = await open();
    for (let n = 0; n < 10; n++) {
      disable(world, "one");
      await world.pass(30_000);
      disable(world);
      await world.pass(60_000);
    }
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled"]);
    disable(world, "one");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled", "+source_disabled"]);
  });

  it("of no seconds tells it each time", async () => {
    const world = await open({ rules: [{ rule: "source_disabled", cool_down_s: 0 }] });
    for (let n = 0; n < 3; n++) {
      disable(world, "one");
      await world.pass(30_000);
      disable(world);
      await world.pass(60_000);
    }
    expect(await world.rules()).toHaveLength(6);
  });

  it("holds over a restart", async () => {
    const world = await open();
    disable(world, "one");
    await world.pass(30_000);
    disable(world);
    await world.pass(60_000);
    await world.restart();
    disable(world, "one");
    await world.pass(5 * MINUTE_MS);
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled"]);
    await world.pass(15 * MINUTE_MS);
    expect(await world.rules()).toHaveLength(3);
  });
});

describe("evaluations in a row", () => {
  it("are asked for: one bad one among good ones fires nothing", async () => {
    const world = await open({ rules: [{ rule: "source_disabled", fires_after: 2 }] });
    for (let n = 0; n < 5; n++) {
      disable(world, "one");
      await world.pass(EVERY_MS);
      disable(world);
      await world.pass(EVERY_MS);
    }
    expect(await world.rules()).toEqual([]);
    disable(world, "one");
    await world.pass(2 * EVERY_MS);
    expect(await world.rules()).toEqual(["+source_disabled"]);
  });
});

describe("what is new", () => {
  it("is told after the cool-down, unless somebody has acknowledged the alert", async () => {
    const world = await open();
    disable(world, "one");
    await world.pass(MINUTE_MS);
    disable(world, "one", "two");
    await world.pass(5 * MINUTE_MS);
    expect(await world.rules()).toHaveLength(1);
    expect(firstOf(world).count).toBe(2);
    await world.pass(15 * MINUTE_MS);
    expect((await world.told()).map(({ causes }) => causes)).toEqual([["one"], ["one", "two"]]);

    const acknowledged = await world.alerts.acknowledge(firstOf(world).id, undefined, "key_1", "on it");
    expect(acknowledged.acknowledged).toMatchObject({ by: "key_1", note: "on it" });
    disable(world, "one", "two", "three");
    await world.pass(HOUR_MS);
    expect(await world.rules()).toHaveLength(2);
    await world.restart();
    await world.pass(HOUR_MS);
    expect(await world.rules()).toHaveLength(2);
    disable(world);
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+source_disabled", "+source_disabled", "-source_disabled"]);
    await expect(world.alerts.acknowledge(firstOf(world).id, undefined, "key_1", undefined)).rejects.toThrow(
      "has cleared",
    );
  });
});

describe("a mute", () => {
  it("of a rule tells nothing for a time, and then what is still wrong", async () => {
    const world = await open();
    disable(world, "one");
    await world.pass(MINUTE_MS);
    await world.alerts.mute(firstOf(world).id, undefined, { by: "key_1", forMs: HOUR_MS });
    disable(world, "one", "two");
    await world.pass(50 * MINUTE_MS);
    expect(await world.rules()).toHaveLength(1);
    expect(firstOf(world).isMuted).toBe(true);
    await world.restart();
    await world.pass(20 * MINUTE_MS);
    expect((await world.told()).map(({ causes }) => causes)).toEqual([["one"], ["one", "two"]]);
  });

  it("holds for the next alert of the rule too, and ends by hand", async () => {
    const world = await open();
    disable(world, "one");
    await world.pass(MINUTE_MS);
    await world.alerts.mute(firstOf(world).id, undefined, { by: "key_1" });
    disable(world);
    await world.pass(MINUTE_MS);
    // Whoever heard that it fired hears that it is over.
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled"]);
    disable(world, "two");
    await world.pass(2 * HOUR_MS);
    expect(await world.rules()).toHaveLength(2);
    expect(firstOf(world)).toMatchObject({ isMuted: true, told: [] });
    expect(firstOf(world).clearedAt).toBeUndefined();
    await world.alerts.unmute(firstOf(world).id, undefined, undefined);
    await world.pass(MINUTE_MS);
    expect((await world.told()).at(-1)).toMatchObject({ type: "alert.fired", causes: ["two"] });
  });

  it("of a cause leaves that one out", async () => {
    const world = await open();
    disable(world, "one", "two");
    await world.pass(MINUTE_MS);
    await world.alerts.mute(firstOf(world).id, undefined, { by: "key_1", cause: "source one" });
    await world.pass(MINUTE_MS);
    expect(firstOf(world)).toMatchObject({ count: 1, isMuted: false });
    disable(world, "one");
    await world.pass(MINUTE_MS);
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled"]);
    await world.pass(2 * HOUR_MS);
    expect(await world.rules()).toHaveLength(2);
    await world.alerts.unmute(firstOf(world).id, undefined, "source one");
    await world.pass(MINUTE_MS);
    expect((await world.told()).at(-1)).toMatchObject({ type: "alert.fired", causes: ["one"] });
  });
});

describe("the message of an end", () => {
  const PROBLEM = "The provider of a source has disabled it and sends no webhooks";

  it("says that it is over only where it is", async () => {
    const world = await open({ rules: [{ rule: "source_disabled", cool_down_s: 0 }] });
    disable(world, "one");
    await world.pass(MINUTE_MS);
    disable(world);
    await world.pass(MINUTE_MS);
    expect(await world.lastSummary()).toBe(`Over: ${PROBLEM}`);

    disable(world, "one");
    await world.pass(MINUTE_MS);
    await world.alerts.mute(firstOf(world).id, undefined, { by: "key_1", cause: "source one" });
    await world.pass(MINUTE_MS);
    expect(await world.lastSummary()).toBe(`Muted: ${PROBLEM}`);

    await world.alerts.unmute(firstOf(world).id, undefined, "source one");
    await world.pass(MINUTE_MS);
    world.alerts.setRules(toActiveRules([{ rule: "source_disabled", enabled: false }]));
    await world.pass(MINUTE_MS);
    expect(await world.lastSummary()).toBe(`No longer watched: ${PROBLEM}`);
    const once = ["+source_disabled", "-source_disabled"];
    expect(await world.rules()).toEqual([...once, ...once, ...once]);
  });

  it("is not sent where nobody was told that it fired", async () => {
    const world = await open({ rules: [{ rule: "source_disabled", cool_down_s: 0 }] });
    disable(world, "one");
    await world.pass(MINUTE_MS);
    await world.alerts.mute(firstOf(world).id, undefined, { by: "key_1" });
    disable(world);
    await world.pass(MINUTE_MS);
    disable(world, "one");
    await world.pass(MINUTE_MS);
    world.alerts.setRules(toActiveRules([{ rule: "source_disabled", enabled: false }]));
    await world.pass(MINUTE_MS);
    expect(firstOf(world)).toMatchObject({ told: [], clearedAt: expect.any(Number) as number });
    expect(await world.rules()).toEqual(["+source_disabled", "-source_disabled"]);
  });
});

describe("a mute of a cause that the alert does not have", () => {
  it("is rejected, and the causes that it has are named", async () => {
    const world = await open();
    disable(world, "one", "two");
    await world.pass(MINUTE_MS);
    const { id } = firstOf(world);
    const mute = (cause: string, of = id) => world.alerts.mute(of, undefined, { by: "key_1", cause });
    await expect(mute("nonsense")).rejects.toThrow(
      `The alert ${id} has no cause "nonsense". It has: "source one", "source two".`,
    );
    expect(firstOf(world).mutes).toEqual([]);
    // Those that are muted, and those of an alert that is over, can be muted again.
    for (const cause of ["source one", "source one", "source two"]) await mute(cause);
    await world.pass(MINUTE_MS);
    expect(firstOf(world).clearedAt).toBeDefined();
    await world.restart();
    expect((await mute("source one")).mutes).toHaveLength(2);
    await expect(mute("nonsense")).rejects.toThrow("has no cause");
  });
});

describe("a channel", () => {
  const channel = (name: string, more = {}) =>
    toChannelSubscription({ name, url: `https://${name}.example/alerts`, ...more });

  it("is a subscription, and gets what it asks for", async () => {
    const world = await open();
    const got: [string, string][] = [];
    world.wrongs.answer = ({ subscription, event }) => void got.push([subscription.name, event.type]);
    await world.gateway.subscriptions.create(channel("ops"));
    await world.gateway.subscriptions.create(channel("pager", { severity: "critical", cleared: false }));
    await world.gateway.subscriptions.create(channel("others", { rules: ["disk_low"] }));
    world.wrongs.brokenFiles = [{ name: "orders.json", endpoint: "orders", reason: "does not compile" }];
    await world.pass(MINUTE_MS);
    disable(world, "one");
    await world.pass(MINUTE_MS);
    disable(world);
    await world.pass(MINUTE_MS);
    expect(got).toEqual([
      ["alerts: ops", "alert.fired"],
      ["alerts: ops", "alert.fired"],
      ["alerts: pager", "alert.fired"],
      ["alerts: ops", "alert.cleared"],
    ]);
  });

  it("that cannot be reached is tried again, and is no cause of an alert", async () => {
    const world = await open();
    await world.gateway.subscriptions.create(
      channel("ops", { retry_policy: { delays_s: [5, 5] }, suspend_after_dead: 1 }),
    );
    world.wrongs.answer = () => ({ outcome: failed("connection refused", { says: "ill" }) });
    disable(world, "one");
    await world.pass(HOUR_MS);
    expect(await world.rules()).toEqual(["+source_disabled"]);
    const [told] = firstOf(world).told;
    const event = await world.gateway.store.reads.findEvent(told?.eventId ?? "", GATEWAY_TENANT);
    expect(event).toMatchObject({ type: "alert.fired", delivered: 0 });
  });
});

/** What the store has of alerts is gone after a restart. */
const forgetful =
  (make: typeof openAlerts): typeof openAlerts =>
  (options) => {
    const { registry } = options;
    return make({
      ...options,
      registry: {
        ...registry,
        async open(resource) {
          const opened = await registry.open(resource);
          for (const { id, tenantId } of opened.list()) {
            await registry.change(opened, (draft) => draft.remove(opened, id, tenantId));
          }
          return opened;
        },
      },
    });
  };
