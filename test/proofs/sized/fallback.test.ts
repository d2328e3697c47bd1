import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HealthCheck } from "../../../src/deliver/shared-checks.ts";
import { checkAccounts, describeViolations, type Arrival, type SentEvent } from "../../support/accounting.ts";
import type { Attempt } from "../../../src/destinations/sender.ts";
import { createChance } from "../../support/chance.ts";
import { QUEUE_IN_MEMORY } from "../../support/queue-in-memory.ts";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { createSimulatedSender, hashOf, type Destination, type Mood } from "../../support/simulated-destination.ts";
import { openSimulatedGateway, type BrokenParts, type SimulatedGateway } from "../../support/simulated-gateway.ts";
import { NOON, countOpen, newEvent } from "../../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../../support/memory-folder.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { settleCalls } from "../../support/watched-store.ts";
import { withPort } from "../../support/with-port.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const EVENTS = 600;
const KEYS = 20;
const SEEDS = sized({ short: 3, middle: 40, long: 200 });
/** Of each kind of queue that takes nothing. */
const REFUSING_SEEDS = sized({ short: 1, middle: 10, long: 50 });

interface Terms {
  ordered: boolean;
  /** The gateway is killed in between. */
  isKilled?: boolean;
  broken?: BrokenParts;
  /** The queue is always taken for empty. */
  isBlind?: boolean;
  /** The broker is like this all the time. */
  brokerIs?: Mood;
  /** The target answers some events with errors, each up to three times. */
  isChoosy?: boolean;
}

interface Result {
  violations: string;
  lost: number;
  twice: number;
  outOfOrder: number;
  imbalance: number;
  byQueue: number;
}

interface Message {
  id: string;
  seq: number;
}

/** n8n at home goes and comes, and so does the broker of the queue; a worker there takes what is in it, in its order. */
describe("a target that goes and comes, with a fallback", () => {
  const folder = useFolder(MEMORY_FOLDER);
  let opened = 0;

  async function run(
    seed: number,
    { ordered, isKilled = false, broken, isBlind = false, brokerIs, isChoosy = false }: Terms,
  ): Promise<Result> {
    const place = join(folder.path, String(++opened));
    const time = createVirtualTime(NOON);
    const chance = createChance(seed);
    const calls = { made: 0, open: 0 };
    const faults: unknown[] = [];
    const target: Destination = { moods: [], latencyMs: 40, chance };
    const broker: Destination = { moods: [], latencyMs: 10, chance };
    const objecting = (mood: Mood): Destination => ({ moods: [{ from: 0, mood }], latencyMs: 40, chance });
    const objections = [objecting("missing"), objecting("erring")];
    const turn = (one: Destination, mood: Mood) =>
      one.moods.push({ from: time.elapsedMs, mood: one === broker ? (brokerIs ?? mood) : mood });
    const moodOf = (one: Destination) => one.moods.findLast(({ from }) => from <= time.elapsedMs)?.mood ?? "well";
    const targetFor = ({ event, number }: Attempt): Destination => {
      const n = Number(event.id.slice(1));
      if (!isChoosy || moodOf(target) !== "well" || n % 5 > 1 || number > 3) return target;
      return objections[n % 5] as Destination;
    };
    const queue: Message[] = [];
    const arrivals: Arrival[] = [];
    const sent: SentEvent[] = [];
    /** Ids of events as n8n has got them, by whichever way. */
    const reached: string[] = [];
    let byQueue = 0;
    const check: HealthCheck = (_, __, done) =>
      void time.after(chance.between(5, 50), () =>
        done(moodOf(target) === "well" ? undefined : "health check: refused"),
      );
    const open = () =>
      openSimulatedGateway({
        folder: place,
        time,
        chance,
        calls,
        check,
        broken,
        kinds: [QUEUE_IN_MEMORY],
        isAwaited: () => true,
        countWaiting: () => Promise.resolve(isBlind ? 0 : moodOf(broker) === "well" ? queue.length : undefined),
        createSender: ({ isAlive }) =>
          createSimulatedSender({
            time,
            isAlive,
            findDestination: (attempt) =>
              attempt.subscription.kind === QUEUE_IN_MEMORY.name ? broker : targetFor(attempt),
            onSend({ attempt, hash, accepted }) {
              const { event, subscription, number } = attempt;
              arrivals.push({ eventId: event.id, subscription: subscription.name, attempt: number, hash, accepted });
              if (!accepted) return;
              if (subscription.kind === QUEUE_IN_MEMORY.name) queue.push({ id: event.id, seq: ++byQueue });
              else reached.push(event.id);
            },
          }),
        maxInFlight: 100,
        maxBodyBytes: 64_000_000,
        maxRows: 5000,
        commitMs: 0,
        onFault: (error) => faults.push(error),
      });
    turn(broker, "well");
    let gateway: SimulatedGateway = await open();
    const move = (byMs: number) => moveClock(time, byMs, () => settleCalls(() => calls));
    const retry = { delays_s: Array.from({ length: 100 }, () => 5) };
    await gateway.subscriptions.create({
      name: "home-queue",
      kind: QUEUE_IN_MEMORY.name,
      events: [],
      destination: { queue: "home" },
      ordered,
      retry_policy: retry,
    });
    await gateway.subscriptions.create({
      name: "n8n",
      url: "https://n8n.example/hook",
      mode: "forward",
      events: ["#"],
      health_url: "https://n8n.example/healthz",
      fallback: "home-queue",
      ordered,
      retry_policy: retry,
    });

    /** As a worker at home does: one after the other, while n8n is there. */
    function work(): void {
      if (moodOf(target) === "well" && moodOf(broker) === "well") {
        const message = queue.shift();
        if (message !== undefined) reached.push(message.id);
      }
    }

    function publish(n: number): void {
      const at = gateway.clock.now();
      const body = Buffer.from(JSON.stringify({ n, seed }));
      const event = newEvent({
        id: `e${n}`,
        orderingKey: `k${n % (isChoosy ? 2 : KEYS)}`,
        receivedAt: at,
        dueAt: at,
        body,
      });
      const sentAt = time.elapsedMs;
      gateway.accept(event, ({ kind }) => {
        const answer = kind === "stored" ? "acknowledged" : "unknown";
        const { id: eventId, orderingKey, tenantId } = event;
        const facts = { hash: hashOf(body), tenantId, orderingKey, eventId, deliveries: undefined };
        sent.push({ ...facts, sentAt, answeredAt: time.elapsedMs, answer });
      });
    }

    const killAt = isKilled ? chance.between(100, EVENTS - 100) : -1;
    for (let n = 0; n < EVENTS; n++) {
      if (n % 60 === 30) turn(target, chance.between(0, 1) < 0.6 ? "down" : "well");
      if (n % 90 === 45) turn(broker, chance.between(0, 1) < 0.3 ? "down" : "well");
      publish(n);
      // In bursts, so that others of the key wait behind one that fails.
      await move(isChoosy && n % 8 > 0 ? 1 : chance.between(20, isChoosy ? 4800 : 600));
      for (let taken = chance.between(0, 3); taken >= 1; taken--) work();
      if (n !== Math.floor(killAt)) continue;
      await gateway.kill();
      gateway = await open();
    }
    turn(target, "well");
    turn(broker, "well");
    const until = time.elapsedMs + 60 * MINUTE_MS;
    const mode = () => gateway.targets.get("n8n", undefined).state?.mode.isOpen === true;
    while ((mode() || queue.length > 0 || (await countOpen(gateway.store)) > 0) && time.elapsedMs < until) {
      await move(SECOND_MS);
      work();
      work();
    }
    const events = await Promise.all(
      sent.map(async ({ eventId = "", hash, tenantId }) => {
        const found = await gateway.store.reads.findEvent(eventId, undefined);
        const { rows } = await gateway.store.reads.listDeliveries(
          { eventSeq: found?.seq ?? 0 },
          { limit: 100, cursor: undefined },
        );
        const nameOf = new Map(gateway.subscriptions.list(undefined).map(({ seq, name }) => [seq, name]));
        const deliveries = rows.map(({ subscriptionSeq, state, generation }) => {
          const subscription = nameOf.get(subscriptionSeq) ?? "";
          return { subscription, state, generation, interruptions: isKilled ? 1 : 0 };
        });
        return { eventId, seq: found?.seq ?? 0, tenantId, hash, deliveries };
      }),
    );
    const { events: tenants, deliveries } = await gateway.store.reads.loadCounters();
    const sum = (of: "created" | "delivered" | "dead" | "cancelled") =>
      deliveries.reduce((all, one) => all + one[of], 0);
    const counts = tenants.map(({ tenantId, accepted }) => ({
      tenantId,
      accepted,
      created: sum("created"),
      delivered: sum("delivered"),
      dead: sum("dead"),
      cancelled: sum("cancelled"),
    }));
    const imbalance = await gateway.store.reads.findImbalance();
    const stopping = gateway.stop(SECOND_MS);
    await move(2 * SECOND_MS);
    await stopping;
    expect(faults).toEqual([]);
    expect(sent.length).toBeGreaterThan(EVENTS - 5);

    const firstAt = new Map<string, number>();
    for (const [at, id] of reached.entries()) if (!firstAt.has(id)) firstAt.set(id, at);
    let outOfOrder = 0;
    const last = new Map<string | undefined, number>();
    for (const { eventId = "", orderingKey } of sent) {
      const at = firstAt.get(eventId) ?? 0;
      if (ordered && at < (last.get(orderingKey) ?? -1)) outOfOrder++;
      last.set(orderingKey, at);
    }
    const books = { sent, arrivals, events, counts, ordered: new Set<string>(), maxDuplicates: isKilled ? 100 : 0 };
    return {
      violations: describeViolations(checkAccounts(books)),
      lost: sent.filter(({ eventId = "" }) => !firstAt.has(eventId)).length,
      twice: reached.length - firstAt.size,
      outOfOrder,
      imbalance,
      byQueue,
    };
  }

  const CLEAN = { violations: "", lost: 0, outOfOrder: 0, imbalance: 0 };

  // shows: Q40
  it.each([false, true])(
    "gets each event once, by one way or the other, and in order where asked (%s)",
    async (ordered) => {
      let byQueue = 0;
      for (let seed = 1; seed <= SEEDS; seed++) {
        const result = await run(seed, { ordered });
        byQueue += result.byQueue;
        expect({ seed, ...result }).toEqual({ seed, ...CLEAN, twice: 0, byQueue: result.byQueue });
      }
      report(
        `fallback: ${SEEDS} runs of ${count(EVENTS)} events (ordered: ${ordered}), ${count(byQueue)} by the queue`,
      );
      expect(byQueue).toBeGreaterThan(EVENTS / 2);
    },
  );

  it.each([false, true])("gets each event although it answers some with errors (ordered: %s)", async (ordered) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { byQueue, ...result } = await run(seed, { ordered, isChoosy: true });
      expect(byQueue).toBeGreaterThan(0);
      expect({ seed, ...result }).toEqual({ seed, ...CLEAN, twice: 0 });
    }
  });

  it.each<[Mood, boolean]>([
    ["down", false],
    ["down", true],
    ["erring", false],
    ["erring", true],
    ["missing", false],
    ["missing", true],
  ])("gets each event although the queue takes nothing (%s, ordered: %s)", async (brokerIs, ordered) => {
    for (let seed = 1; seed <= REFUSING_SEEDS; seed++) {
      const result = await run(seed, { ordered, brokerIs });
      expect({ seed, ...result }).toEqual({ seed, ...CLEAN, twice: 0, byQueue: 0 });
    }
    report(`R32 a fallback that takes nothing (${brokerIs}, ordered: ${ordered}): 0 lost in ${REFUSING_SEEDS} runs`);
  });

  it.each([false, true])("loses nothing when the gateway is killed in between (ordered: %s)", async (ordered) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violations, lost, imbalance } = await run(seed, { ordered, isKilled: true });
      expect({ seed, violations, lost, imbalance }).toEqual({ seed, violations: "", lost: 0, imbalance: 0 });
    }
  });

  // shows: Q40
  it("shows it when nobody waits until the queue is empty: order is lost (control)", async () => {
    let outOfOrder = 0;
    for (let seed = 1; seed <= 6; seed++) outOfOrder += (await run(seed, { ordered: true, isBlind: true })).outOfOrder;
    expect(outOfOrder).toBeGreaterThan(0);
  });

  // shows: Q36
  it("shows it when what moves is ended and not written anew (control)", async () => {
    const broken: BrokenParts = {
      store: (store) =>
        withPort(store, "lanes", {
          settle: (settlement, done) =>
            settlement.moveTo === undefined
              ? store.lanes.settle(settlement, done)
              : store.lanes.settle(
                  { ...settlement, moveTo: undefined, verdict: "dead", deadReason: "refused", leavesKeyQueue: true },
                  done,
                ),
        }),
    };
    expect((await run(1, { ordered: false, broken })).lost).toBeGreaterThan(0);
  });
});
