import { describe, expect, it } from "vitest";
import { createFallbackDrain, type DrainState } from "../../../src/deliver/fallback-drain.ts";
import { createTarget, createTargetCondition } from "../../../src/deliver/target.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import type { Store } from "../../../src/store/store.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

interface World {
  ordered?: boolean;
  /** In the lane of the fallback, and in its queue. */
  open?: number;
  waiting?: number | undefined;
  /** How many it has accepted so far; 1 when not given. */
  accepted?: number;
  isWorking?: boolean;
  /** The queue counts no messages that somebody holds. */
  mayHoldMore?: boolean;
  isAway?: boolean;
  /** What moves come back, step by step. */
  steps?: number[];
  /** Whether the fallback is one that the subscription had before. */
  isFormer?: () => boolean;
}

function openDrain(world: World) {
  const forward = { seq: 1, fallback: "home", ordered: world.ordered === true, drainWithinMs: 600_000 } as Subscription;
  const fallback = { seq: 2, status: "active" } as Subscription;
  const [target, own] = [createTarget(createTargetCondition(0)), createTarget(createTargetCondition(0))];
  Object.assign(own.mode, { isOpen: world.isAway === true });
  const noted: number[] = [];
  const overdue: (number | undefined)[] = [];
  const accepted = world.accepted ?? 1;
  const left = {
    created: accepted + (world.open ?? 0),
    delivered: accepted,
    dead: 0,
    cancelled: 0,
    subscriptionSeq: 2,
  };
  const time = createVirtualTime(0);
  const drain = createFallbackDrain({
    clock: createVirtualClock(time),
    store: {
      lanes: { changeLane: () => Promise.resolve({ changed: world.steps?.shift() ?? 0 }) },
      reads: { loadDeliveryCounters: () => Promise.resolve([left]) },
    } as unknown as Pick<Store, "lanes" | "reads">,
    scheduler: {
      targetOf: ({ seq }: Subscription) => (seq === 1 ? target : own),
      recordPending: ({ seq }: Subscription) => void noted.push(seq),
      isWorking: () => world.isWorking === true,
      targets: { refresh: () => undefined },
    },
    listForwards: () => [forward],
    findFallback: () => fallback,
    listFormerFallbacks: () => (world.isFormer?.() === true ? [fallback] : []),
    countQueue: () => Promise.resolve(world.waiting),
    mayHoldMore: () => world.mayHoldMore === true,
    onOverdue: ({ left: count }) => overdue.push(count),
    onFault: (error) => {
      throw error;
    },
  });
  const look = (healthyMs = 0) => new Promise<DrainState>((resolve) => drain.look(target, healthyMs, resolve));
  const accept = () => {
    left.created++;
    left.delivered++;
  };
  const uncount = () => {
    world.waiting = undefined;
  };
  return { forward, drain, target, look, noted, overdue, time, accept, uncount };
}

describe("what went to a fallback", () => {
  // shows: Q41
  it("is gone when nothing is in the lane and the queue is empty", async () => {
    const { look, target } = openDrain({ waiting: 0 });
    const looking = look();
    expect(target.isCheckingDrain).toBe(true);
    expect(await looking).toBe("drained");
    expect(target.isCheckingDrain).toBe(false);
  });

  // shows: Q42
  it.each<[string, World]>([
    ["some is in the queue", { waiting: 1 }],
    ["some is in the lane", { waiting: 0, open: 1 }],
    ["the queue cannot be counted", { waiting: undefined }],
    ["an attempt is not recorded yet", { waiting: 0, isWorking: true }],
  ])("is not when %s; without order it is waited for no longer than was said, with a word", async (_, world) => {
    const { look, overdue } = openDrain(world);
    expect(await look(599_999)).toBe("draining");
    expect(overdue).toEqual([]);
    expect([await look(600_000), await look(605_000)]).toEqual(["drained", "drained"]);
    expect(overdue).toHaveLength(1);
    expect(await openDrain({ ...world, ordered: true }).look(86_400_000)).toBe("held");
  });

  // shows: Q41
  it("is gone in order only when the queue was empty for as long as others may hold what they took, where they are not counted", async () => {
    const world: World = { waiting: 0, ordered: true, mayHoldMore: true };
    const { look, time } = openDrain(world);
    const lookAfter = (ms: number, healthyMs = 86_400_000) => {
      time.moveTo(time.elapsedMs + ms);
      return look(healthyMs);
    };
    expect([await lookAfter(0), await lookAfter(599_999)]).toEqual(["held", "held"]);
    world.waiting = 1;
    expect(await lookAfter(1)).toBe("held");
    world.waiting = 0;
    expect([await lookAfter(1), await lookAfter(599_999), await lookAfter(1, 599_999)]).toEqual([
      "held",
      "held",
      "held",
    ]);
    expect(await lookAfter(0)).toBe("drained");
    // The controls: without order, and where all messages are counted, one look is enough.
    expect(await openDrain({ ...world, ordered: false }).look()).toBe("drained");
    expect(await openDrain({ ...world, mayHoldMore: false }).look()).toBe("drained");
  });

  it("is listed when its target went on without it, until it is gone or the target is down again", async () => {
    const world: World = { waiting: 3 };
    const { drain, look, target } = openDrain(world);
    await look(599_999);
    expect(await drain.listUndrained()).toEqual([]);
    await look(600_000);
    expect(await drain.listUndrained()).toMatchObject([{ left: 3 }]);
    world.waiting = undefined;
    expect(await drain.listUndrained()).toMatchObject([{ left: 3 }]);
    world.waiting = 0;
    expect(await drain.listUndrained()).toEqual([]);
    world.waiting = 1;
    expect(await drain.listUndrained()).toEqual([]);
    await look(600_000);
    Object.assign(target.mode, { isOpen: true });
    expect(await drain.listUndrained()).toEqual([]);
    await look(600_000);
    // Looked at while the target was on its way to NORMAL, it is not forgotten.
    expect(await drain.listUndrained()).toEqual([]);
    Object.assign(target.mode, { isOpen: false });
    expect(await drain.listUndrained()).toMatchObject([{ left: 1 }]);
    Object.assign(target.mode, { isOpen: true });
    world.waiting = 0;
    await look(600_000);
    Object.assign(target.mode, { isOpen: false });
    expect(await drain.listUndrained()).toEqual([]);
  });

  it("is nothing, also where the queue cannot be counted, when it got nothing since it was empty", async () => {
    const world: World = { waiting: undefined, ordered: true, mayHoldMore: true, accepted: 0 };
    expect(await openDrain(world).look()).toBe("drained");
    const { look, accept } = openDrain({ ...world, accepted: 7 });
    expect(await look()).toBe("held");
    world.waiting = 0;
    const known = openDrain({ ...world, mayHoldMore: false, accepted: 7 });
    expect(await known.look()).toBe("drained");
    known.uncount();
    expect(await known.look()).toBe("drained");
    known.accept();
    expect(await known.look()).toBe("held");
    accept();
    expect(await look()).toBe("held");
  });

  it("is told of after the time that was said, also while it holds up a target to keep the order", async () => {
    const { drain, look, target, overdue } = openDrain({ waiting: undefined, ordered: true });
    Object.assign(target.mode, { isOpen: true });
    expect(await look(599_999)).toBe("held");
    expect([await drain.listUndrained(), overdue]).toEqual([[], []]);
    expect([await look(600_000), await look(605_000)]).toEqual(["held", "held"]);
    expect(overdue).toHaveLength(1);
    expect(await drain.listUndrained()).toMatchObject([{ left: undefined, isHeld: true }]);
    // Its health was bad meanwhile.
    expect(await look(0)).toBe("held");
    expect(await drain.listUndrained()).toEqual([]);
  });

  // shows: Q39
  it("comes back, step by step, when the fallback cannot take it, and in NORMAL", async () => {
    const away = openDrain({ waiting: undefined, isAway: true, steps: [500, 3] });
    expect(await away.look()).toBe("draining");
    expect(away.noted).toEqual([1, 1]);
    const well = openDrain({ waiting: 0, steps: [5] });
    await well.look();
    expect(well.noted).toEqual([]);
    well.drain.bringBack(well.target);
    await well.look();
    expect(well.noted).toEqual([1]);
  });

  it("comes back when the subscription has another fallback or none, until it has this one again", async () => {
    const removed = openDrain({ waiting: 0, steps: [500, 3], isFormer: () => true });
    removed.drain.bringBackFormer(removed.forward);
    await removed.look();
    expect(removed.noted).toEqual([1, 1]);
    let asked = 0;
    const again = openDrain({ waiting: 0, steps: [500, 3], isFormer: () => ++asked <= 2 });
    again.drain.bringBackFormer(again.forward);
    await again.look();
    expect(again.noted).toEqual([1]);
  });
});
