/** The people and accidents around a simulated gateway: they pause, replay, delete, crash it and set its clock. */
import { PosthornError } from "../../src/model/errors.ts";
import type { Subscription } from "../../src/model/subscription.ts";
import type { SubscriptionChange } from "../../src/resources/subscriptions/subscription-record.ts";
import type { StoredDelivery } from "../../src/store/port/reads.ts";
import type { Chance } from "../support/chance.ts";
import { drawSubscription, HOUR, MINUTE } from "./scenario.ts";
import type { World } from "./world.ts";

export interface Operator {
  /** Plans everything that happens while the world is not well. */
  planDay(): void;
  /** Resumes what is paused, and deals with dead letters that block their ordering key. */
  tidyUp(): Promise<void>;
}

const JUMPS_MS = [HOUR, -HOUR, 24 * HOUR, -24 * HOUR];

export function createOperator(world: World, chance: Chance): Operator {
  const { scenario, observer, time } = world;
  let created = 0;

  /** Mostly when there is something to disturb. */
  function anyTime(): number {
    if (chance.isTrue(0.3)) return chance.between(0, scenario.activeMs);
    return chance.pick(world.drawn).at + chance.between(0, chance.pick([10, 1_000, 60_000]));
  }

  const live = () => world.gateway.subscriptions.list(undefined);

  async function create(): Promise<void> {
    const name = `dest-${++created}`;
    await world.createSubscription(drawSubscription(chance, name, chance.pick(scenario.tenants)));
  }

  async function anyDelivery(): Promise<StoredDelivery | undefined> {
    const state = chance.pick(["pending", "sending", "delivered", "dead", "cancelled"] as const);
    const { rows } = await world.gateway.store.reads.listDeliveries({ state }, { limit: 20, cursor: undefined });
    return rows.length === 0 ? undefined : chance.pick(rows);
  }

  async function onDelivery(act: "retry" | "cancel"): Promise<void> {
    const delivery = await anyDelivery();
    if (delivery === undefined) return;
    observer.touched(delivery);
    observer.trace(`${act} ${delivery.eventSeq}/${delivery.subscriptionSeq}, which is ${delivery.state}`);
    await world.gateway.replays[act](delivery);
    if (act === "cancel") world.cancelled.add(`${delivery.eventSeq} ${delivery.subscriptionSeq}`);
  }

  async function replay(): Promise<void> {
    const delivery = await anyDelivery();
    const { store, replays, subscriptions } = world.gateway;
    const event = delivery && (await store.reads.findEvent(delivery.eventId, delivery.tenantId));
    if (event === undefined || delivery === undefined) return;
    // Its fan-out may still be under way, and make the same delivery.
    if (Math.abs(time.wall() - event.receivedAt) < MINUTE) return;
    const targets = chance.isTrue(0.5)
      ? subscriptions.list(event.tenantId).filter(() => chance.isTrue(0.5))
      : [subscriptions.find(delivery.subscriptionSeq)].filter((found) => found !== undefined);
    for (const target of targets) {
      const key = { eventSeq: event.seq, subscriptionSeq: target.seq };
      const isNew = (await store.reads.findDelivery(key)) === undefined;
      observer.touched(key);
      observer.trace(`replay ${event.seq} to ${target.name}`);
      await replays.replayEvent(event, target.id);
      if (isNew) world.noteNewDelivery(event.id, key);
    }
  }

  async function change(subscription: Subscription): Promise<void> {
    const drawn: SubscriptionChange = chance.pick([
      { concurrency: chance.pick([1, 4, 32]) },
      { rate_limit: chance.pick([null, 5, 600]) },
      { on_dead_head: chance.pick(["block", "skip"] as const) },
      { max_age_s: chance.pick([null, 600]) },
    ]);
    observer.trace(`change ${subscription.name} ${JSON.stringify(drawn)}`);
    await world.gateway.subscriptions.change(subscription, drawn);
  }

  async function act(): Promise<void> {
    const { subscriptions } = world.gateway;
    const subscription = live().length === 0 ? undefined : chance.pick(live());
    const what = chance.whole(0, 20);
    if (what < 5) await onDelivery("retry");
    else if (what < 8) await onDelivery("cancel");
    else if (what < 11) await replay();
    else if (what === 11) await create();
    else if (subscription === undefined) return;
    else if (what < 14) {
      observer.trace(`pause ${subscription.name}`);
      await subscriptions.setStatus(subscription, "inactive");
    } else if (what < 18) {
      observer.trace(`resume ${subscription.name}`);
      await subscriptions.setStatus(subscription, "active");
    } else if (what < 20) await change(subscription);
    else {
      observer.trace(`delete ${subscription.name}`);
      world.deleted.add(subscription.id);
      await world.gateway.lanes.remove(subscription);
    }
  }

  /** What may not be done now is refused; anything else is a fault. */
  async function tryTo(doIt: () => Promise<void>): Promise<void> {
    await doIt().catch((error: unknown) => {
      if (!(error instanceof PosthornError) || error.code === "internal_error") throw error;
      observer.trace(`refused: ${error.code}`);
    });
  }

  return {
    planDay() {
      for (let i = chance.whole(1, 7); i > 0; i--) world.plan(0, create);
      world.plan(0, async () => world.publishAll());
      for (let i = 0; i < scenario.actCount; i++) world.plan(anyTime(), () => tryTo(act));
      for (let i = 0; i < scenario.jumpCount; i++) {
        const byMs = chance.pick(JUMPS_MS);
        world.plan(anyTime(), async () => {
          observer.trace(`the clock is set by ${byMs / HOUR} h`);
          time.jump(byMs);
        });
      }
      for (let i = 0; i < scenario.crashCount; i++) {
        const own = chance.fork();
        const isGraceful = chance.isTrue(0.3);
        world.planAccident(anyTime(), () => (isGraceful ? world.restart(own) : world.crash(own)));
      }
    },
    async tidyUp() {
      const { subscriptions, store, replays } = world.gateway;
      for (const subscription of live()) {
        if (subscription.status !== "active") await subscriptions.setStatus(subscription, "active");
      }
      const { rows } = await store.reads.listDeliveries({ state: "dead" }, { limit: 1000, cursor: undefined });
      for (const row of rows) {
        const isOrdered = world.subscriptions.get(row.subscriptionId)?.ordered === true;
        if (!isOrdered || chance.isTrue(0.3)) continue;
        observer.touched(row);
        if (chance.isTrue(0.5)) await tryTo(async () => void (await replays.retry(row)));
        else {
          await tryTo(async () => {
            await replays.cancel(row);
            world.cancelled.add(`${row.eventSeq} ${row.subscriptionSeq}`);
          });
        }
      }
    },
  };
}
