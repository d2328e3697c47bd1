import { describe, expect, it } from "vitest";
import { createDestinationKinds } from "../../../../src/destinations/kinds.ts";
import { paceAllows } from "../../../../src/deliver/pace.ts";
import { createSubscriptionState } from "../../../../src/deliver/subscription-state.ts";
import { createTarget, createTargetCondition } from "../../../../src/deliver/target.ts";
import { createSeededRandom } from "../../../support/seeded-random.ts";
import type { Subscription, SubscriptionInput } from "../../../../src/model/subscription.ts";
import { createFailureEvents } from "../../../../src/alerts/failure-events.ts";
import { createBulkReplays } from "../../../../src/replays/bulk-replays.ts";
import { createOwnEvents } from "../../../../src/accept/ingest.ts";
import { createResume } from "../../../../src/replays/resume.ts";
import { createSecretBox } from "../../../../src/resources/secret-box.ts";
import { createSecretRotation } from "../../../../src/jobs/secret-rotation.ts";
import { createSubscriptionLanes } from "../../../../src/resources/subscriptions/subscription-lanes.ts";
import { createTargets } from "../../../../src/resources/target-states.ts";
import { openSubscriptions } from "../../../../src/resources/subscriptions/subscriptions.ts";
import { createAuthors } from "../../../../src/resources/authors.ts";
import { createRegistry } from "../../../../src/resources/registry.ts";
import type { IncomingEvent } from "../../../../src/accept/fan-out.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/open.ts";
import type { ReplayRow } from "../../../../src/store/port/jobs.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import type { Store } from "../../../../src/store/store.ts";
import { createStandingClock, newDelivery, newEvent, NOON, stored } from "../../../support/store-fixtures.ts";
import { useFolder } from "../../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime } from "../../../support/virtual-clock.ts";

const ALL = { limit: 9, cursor: undefined };
const MANY = 501;

/** What leads to a suspension that is told. */
function failing() {
  const target = createTarget(createTargetCondition(NOON));
  return { target, failedOthers: true, deadInARow: 11 };
}

describe("subscriptions", () => {
  const folder = useFolder();

  async function openStore(): Promise<Store> {
    const store = await openSqliteStore({
      file: `${folder.path}/posthorn.db`,
      createClock: () => createStandingClock(),
      dedupeHorizonMs: 1000,
      thread: false,
      synchronous: "OFF",
      onFatal: (error) => expect.unreachable(String(error)),
    });
    folder.onEnd(() => store.close());
    return store;
  }

  /** One process; `records` is what it writes with. */
  async function open(
    store: Store,
    change: Partial<Parameters<typeof openSubscriptions>[0]> = {},
    records: Records = store.records,
  ) {
    const time = createVirtualTime(NOON);
    const clock = createVirtualClock(time);
    const random = createSeededRandom(1);
    let last = 0;
    const createId = (prefix: string) => `${prefix}_${++last}_${Math.random()}`;
    const added: ReplayRow[] = [];
    const plan = (event: IncomingEvent) => ({ event, deliveries: [], done: () => undefined });
    const onFault = (error: unknown) => expect.unreachable(String(error));
    const ownEvents = createOwnEvents({
      ingest: { acceptOwn: () => expect.unreachable(), plan },
      clock,
      createId,
      onFault,
    });
    const failureEvents = createFailureEvents({ ownEvents, clock, findSubscription: (seq) => subscriptions.find(seq) });
    const runner = { add: (row: ReplayRow) => added.push(row) } as never;
    const bulk = createBulkReplays({
      store,
      subscriptions: { find: onFault, getFor: onFault, list: onFault, rightsOf: onFault },
      runner,
      clock,
      authors: createAuthors(),
      createId,
    });
    const registry = createRegistry({ records, clock });
    const subscriptions = await openSubscriptions({
      registry,
      clock,
      random,
      secretBox: createSecretBox("a master key for tests"),
      createId,
      kinds: createDestinationKinds(),
      rejectDestination: () => undefined,
      onChange: () => undefined,
      onResumed: (draft, one, from) => failureEvents.resumed(draft, one, from, { held: "deliver", skipped: 0 }),
      ...change,
    });
    const lanes = createSubscriptionLanes({
      store,
      subscriptions,
      cancelLater: bulk.cancelLane,
      onMovedUp: () => undefined,
    });
    const rotation = createSecretRotation({
      subscriptions,
      ownEvents,
      clock,
      random,
      rotateAfterMs: 0,
      onOverlap: () => Promise.resolve(),
      onRotation: () => undefined,
      onOverdue: () => undefined,
    });
    const resume = createResume({
      store,
      subscriptions,
      findMode: () => undefined,
      failureEvents,
      trail: { note: () => Promise.resolve() },
    });
    return { time, clock, registry, subscriptions, lanes, rotation, resume, failureEvents, added };
  }

  const input = (name: string, change: Partial<SubscriptionInput> = {}): SubscriptionInput => ({
    name,
    url: "https://example.com/hook",
    events: [`${name}.*`],
    ...change,
  });
  const codesOf = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.map((result) => (result.status === "fulfilled" ? "made" : (result.reason as { code: string }).code)).sort();
  const runningReplays = async (store: Store) => (await store.jobs.listReplays({ status: "running" }, ALL)).rows;
  const typesOf = async (store: Store) => (await store.reads.listEvents({}, ALL)).rows.map(({ type }) => type);

  it("are held since they stopped being active, whatever else is changed, and after a restart", async () => {
    const store = await openStore();
    const { time, subscriptions } = await open(store);
    const [paused, active] = [await subscriptions.create(input("a")), await subscriptions.create(input("b"))];
    const born = await subscriptions.create(input("c", { status: "inactive" }));
    const at = async (ms: number, act: () => Promise<unknown>) => {
      time.moveTo(ms);
      await act();
    };
    await at(5, () => subscriptions.suspend(paused));
    await at(9, () => subscriptions.setStatus(paused, "inactive"));
    await at(10, () => subscriptions.change(paused, { name: "renamed" }));
    await at(11, () => subscriptions.change(active, { timeout: 9 }));
    const since = [paused, active, born].map((one) => subscriptions.heldSince(one));
    expect(since).toEqual([NOON + 5, undefined, NOON]);
    const { subscriptions: again } = await open(store);
    expect([paused, active, born].map(({ id }) => again.heldSince(again.getById(id, undefined)))).toEqual(since);
    await at(20, () => subscriptions.setStatus(paused, "active"));
    expect(subscriptions.heldSince(paused)).toBeUndefined();
    await at(30, () => subscriptions.setStatus(paused, "inactive"));
    expect(subscriptions.heldSince(paused)).toBe(NOON + 30);
  });

  it.each([
    { rule: "name", of: (n: number) => input("same", { events: [`e${n}`] }), refused: "conflict" },
    {
      rule: "forwarder",
      of: (n: number) => input(`n${n}`, { events: ["same"], mode: "forward" }),
      refused: "conflict",
    },
    { rule: "quota", of: (n: number) => input(`n${n}`), refused: "subscription_quota" },
  ])("of two that come to two processes at once, one is made: $rule", async ({ of, refused }) => {
    const store = await openStore();
    const sides = [await open(store, { findQuota: () => 1 }), await open(store, { findQuota: () => 1 })];
    const results = await Promise.allSettled(sides.map(({ subscriptions }, n) => subscriptions.create(of(n))));
    expect(codesOf(results)).toEqual([refused, "made"].sort());
    expect((await store.records.load(["subscription"])).records).toHaveLength(1);
  });

  it("have ids that no other tenant's has or had", async () => {
    const { subscriptions, lanes } = await open(await openStore());
    const make = (tenantId: string) => subscriptions.make(input("a", { tenant_id: tenantId }), { id: "chosen" });
    const { subscription } = await make("one");
    await expect(make("two")).rejects.toMatchObject({ code: "conflict" });
    await lanes.remove(subscription);
    await expect(make("two")).rejects.toMatchObject({ code: "conflict" });
    expect((await make("one")).subscription.seq).toBe(subscription.seq);
  });

  it("that were deleted are known as such, after a restart and in another process", async () => {
    const store = await openStore();
    const [one, other] = [await open(store), await open(store)];
    const { id } = await one.subscriptions.create(input("a"));
    await one.lanes.remove(one.subscriptions.getById(id, undefined));
    await other.registry.follow();
    const later = await open(store);
    for (const { subscriptions } of [one, other, later]) {
      expect([subscriptions.wasDeleted(id, "default"), subscriptions.wasDeleted(id, "other")]).toEqual([true, false]);
      expect(subscriptions.findById(id, undefined)).toBeUndefined();
    }
  });

  it("hide what was answered until a change of the operator's credentials is in effect, and no longer", async () => {
    const store = await openStore();
    let meanwhile = (): void => undefined;
    // What lanes do with a change: from then on they send with the new settings.
    const { subscriptions, time } = await open(store, { onChange: () => meanwhile() });
    const headers = (value: string) => ({ headers: { "X-Key": value } });
    const made = await subscriptions.create(input("a", { tenant_id: "acme", ...headers("of the operator") }));
    const hiddenUntil = () => subscriptions.answersHiddenUntil(made.seq, "acme");
    expect(hiddenUntil()).toBe(Infinity);
    const times: number[] = [];
    meanwhile = () => {
      times.push(hiddenUntil());
      if (times.length === 1) time.moveTo(7000);
    };
    const changed = await subscriptions.change(made, headers("of the tenant"), { boundTo: "acme" });
    // An attempt with the old credentials may have begun at any time before.
    expect(times[0]).toBeGreaterThan(NOON + 7000);
    expect(hiddenUntil()).toBe(NOON + 7000);
    expect(subscriptions.find(made.seq)?.version).toBe(changed.version);
    time.moveTo(9000);
    await subscriptions.put(made.id, input("a", { tenant_id: "acme", timeout: 9 }), { boundTo: "acme" });
    expect([hiddenUntil(), (await open(store)).subscriptions.answersHiddenUntil(made.seq, "acme")]).toEqual([
      NOON + 7000,
      NOON + 7000,
    ]);
    expect(subscriptions.answersHiddenUntil(made.seq, undefined)).toBe(-Infinity);
  });

  it("hide what was answered to a deleted one with the same id, also when the new one is declared", async () => {
    const { subscriptions, registry, lanes, time } = await open(await openStore());
    const declare = (change: Partial<SubscriptionInput>) =>
      registry.changeAll((draft) => subscriptions.declareIn(draft, [input("a", { tenant_id: "acme", ...change })]));
    await declare({ headers: { "X-Key": "of the operator" } });
    await registry.changeAll((draft) => subscriptions.declareIn(draft, []));
    const [first] = subscriptions.list("acme") as [Subscription];
    time.moveTo(5000);
    await lanes.remove(first);
    await declare({});
    const [again] = subscriptions.list("acme") as [Subscription];
    expect([again.id, again.seq]).toEqual([first.id, first.seq]);
    expect(subscriptions.answersHiddenUntil(again.seq, "acme")).toBe(NOON + 5000);
    // The control: one that never was has nothing to hide.
    const other = await subscriptions.create(input("b", { tenant_id: "acme" }));
    expect(subscriptions.answersHiddenUntil(other.seq, "acme")).toBe(-Infinity);
  });

  it("come back with what was known of their destinations, which moves no version", async () => {
    const store = await openStore();
    const targetsOf = ({ subscriptions, clock }: Awaited<ReturnType<typeof open>>) =>
      createTargets({
        shared: { find: () => undefined, list: () => [] },
        store,
        clock,
        authors: createAuthors(),
        subscriptions: () => subscriptions,
        scheduler: () => expect.unreachable("nothing is sent here"),
        onMode: () => undefined,
        onChange: () => undefined,
      });
    const before = await open(store);
    const made = await before.subscriptions.create(input("a"));
    const state = createSubscriptionState(0);
    Object.assign(state.ownTarget.mode, { isOpen: true, failures: 7 });
    Object.assign(state.ownTarget.pace, { perS: 5, tokens: 0 });
    await targetsOf(before).saveState(made, state);
    const again = await open(store);
    const targets = targetsOf(again);
    // Whenever it is asked for first: a pace that it was held to has had time since the start.
    again.time.moveTo(again.clock.now() + 10_000);
    const saved = targets.findSaved(made.seq) ?? createSubscriptionState(0);
    expect(saved.ownTarget.mode).toMatchObject({ isOpen: true, failures: 7 });
    expect(paceAllows(saved.ownTarget.pace, again.clock.now())).toBeGreaterThan(0);
    expect(again.subscriptions.find(made.seq)?.version).toBe(made.version);
  });

  describe("and what follows from a change", () => {
    type Side = Awaited<ReturnType<typeof open>>;
    const CHANGES: { what: string; status: "active" | "inactive"; type: string; run: Run }[] = [
      {
        what: "a suspension",
        status: "active",
        type: "webhook.suspended",
        run: ({ subscriptions, failureEvents }, one) =>
          subscriptions.suspend(one, (draft, now) => failureEvents.suspended(draft, now, "x", failing())),
      },
      {
        what: "a resumption",
        status: "inactive",
        type: "webhook.resumed",
        run: ({ resume }, one) => resume.resume(one, "deliver"),
      },
      {
        what: "settings that resume",
        status: "inactive",
        type: "webhook.resumed",
        run: ({ subscriptions }, one) => subscriptions.change(one, { status: "active" }),
      },
      {
        what: "a rotation",
        status: "active",
        type: "webhook.secret_rotating",
        run: ({ rotation }, one) => rotation.rotate(one),
      },
    ];
    type Run = (side: Side, one: Subscription) => Promise<unknown>;

    it.each(CHANGES)("are one write: $what", async ({ status, type, run }) => {
      const store = await openStore();
      const writes: number[] = [];
      const side = await open(
        store,
        {},
        {
          ...store.records,
          write(request) {
            writes.push(request.changes.length + (request.events?.length ?? 0));
            return store.records.write(request);
          },
        },
      );
      const made = await side.subscriptions.create(input("a", { status }));
      await run(side, made);
      expect([writes, await typesOf(store)]).toEqual([[1, 2], [type]]);
    });

    it.each(CHANGES)("are both not there when it cannot be written: $what", async ({ status, run }) => {
      const store = await openStore();
      let isBroken = false;
      const side = await open(
        store,
        {},
        {
          ...store.records,
          write: (request) => (isBroken ? Promise.reject(new Error("the disk")) : store.records.write(request)),
        },
      );
      const made = await side.subscriptions.create(input("a", { status }));
      isBroken = true;
      await expect(run(side, made)).rejects.toThrow("the disk");
      expect([await typesOf(store), side.subscriptions.find(made.seq)]).toEqual([[], made]);
      expect((await open(store)).subscriptions.find(made.seq)?.version).toBe(made.version);
    });

    it("is told once when another process was faster, and not at all when there is nothing to tell", async () => {
      const store = await openStore();
      const [one, other] = [await open(store), await open(store)];
      const made = await one.subscriptions.create(input("a", { status: "inactive" }));
      await other.registry.follow();
      await Promise.all([one, other].map(({ resume }) => resume.resume(made, "deliver")));
      expect(await typesOf(store)).toEqual(["webhook.resumed"]);
    });

    it("leaves a pause alone that came before a suspension", async () => {
      const { subscriptions, lanes } = await open(await openStore());
      const made = await subscriptions.create(input("a"));
      await subscriptions.setStatus(made, "inactive");
      await subscriptions.suspend(made, () => expect.unreachable("it is paused"));
      expect(subscriptions.find(made.seq)?.status).toBe("inactive");
      await lanes.remove(made);
      await subscriptions.suspend(made);
    });

    it("begins the job that cancels many deliveries in the write that deletes their subscription", async () => {
      const store = await openStore();
      let isBroken = true;
      const seen: object[] = [];
      const { subscriptions, lanes, added } = await open(
        store,
        {},
        {
          ...store.records,
          write(request) {
            const [change] = request.changes;
            if (change?.act !== "delete") return store.records.write(request);
            seen.push({ act: change.act, lane: request.replay?.laneSeq });
            return isBroken ? Promise.reject(new Error("the disk")) : store.records.write(request);
          },
        },
      );
      const made = await subscriptions.create(input("a"));
      for (let n = 0; n < MANY; n++) await stored(store, newEvent(), [newDelivery(made.seq)]);
      await expect(lanes.remove(made)).rejects.toThrow("the disk");
      expect([await runningReplays(store), subscriptions.find(made.seq)]).toEqual([[], made]);
      isBroken = false;
      const { cancelled, jobId } = await lanes.remove(made);
      expect(cancelled).toBe(MANY);
      expect(await runningReplays(store)).toMatchObject([{ id: jobId, laneSeq: made.seq, total: MANY }]);
      expect(added.map(({ id }) => id)).toEqual([jobId]);
      expect(seen).toEqual(Array.from({ length: 2 }, () => ({ act: "delete", lane: made.seq })));
    });
  });
});
