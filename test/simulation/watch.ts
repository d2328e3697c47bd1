/** Looks in from time to time: the counters must agree with the rows, and no lane may stand still. */
import type { World } from "./world.ts";
import { MINUTE } from "./scenario.ts";

/** Longer than any slot is held, any token awaited, and any probe put off. */
const PATIENCE_MS = 10 * MINUTE;

export function planWatch(world: World, at: number): void {
  world.plan(at, async () => {
    const { gateway, time, observer } = world;
    const imbalance = await gateway.store.reads.findImbalance();
    if (imbalance !== 0) observer.violation(`the imbalance is ${imbalance}`);
    const before = await findDue(world);
    const lookedAt = time.elapsedMs;
    world.plan(lookedAt + PATIENCE_MS, async () => {
      // What another process, or an operator, began in between may need its own time.
      if (world.gateway !== gateway) return;
      const after = await findDue(world);
      for (const [delivery, seq] of before) {
        if (after.get(delivery) !== seq || observer.lastSendAt(seq) >= lookedAt) continue;
        const lane = [...gateway.scheduler.lanes()].find((candidate) => candidate.seq === seq);
        // The destination asked for it (429 with Retry-After).
        if ((lane?.target.pace.heldUntil ?? 0) > gateway.clock.now()) continue;
        const facts = JSON.stringify({
          now: gateway.clock.now(),
          ...lane,
          timer: undefined,
          ready: lane?.ready.length,
        });
        observer.violation(`${delivery} is due, and its lane stands still: ${facts}`);
      }
    });
  });
}

/** Deliveries that may go, each with its lane. */
async function findDue({ gateway }: World): Promise<Map<string, number>> {
  const { store, subscriptions, clock } = gateway;
  const due = new Map<string, number>();
  const { rows } = await store.reads.listDeliveries({ state: "pending" }, { limit: 1000, cursor: undefined });
  for (const { eventSeq, subscriptionSeq, nextAttemptAt, waitsForKey } of rows) {
    if (waitsForKey || nextAttemptAt === undefined || nextAttemptAt > clock.now()) continue;
    if (subscriptions.find(subscriptionSeq)?.status !== "active") continue;
    due.set(`${eventSeq}/${subscriptionSeq}`, subscriptionSeq);
  }
  return due;
}
