import { describe, expect, it } from "vitest";
import type { HoldLimits, Taker, TakenMessage } from "../../src/queues/broker.ts";
import type { KindSettings } from "../../src/sources/source-kind.ts";
import { createMemoryBroker } from "../support/memory-queue.ts";
import { PULLED_CHECKS } from "./messages/checks.ts";
import { DELIVERED_CHECKS } from "./messages/delivered-checks.ts";
import { pulledSourceContract, type PulledHarness } from "./pulled-source-contract.ts";

const RENEWING: HoldLimits = { holdMs: 30_000, canRenew: true, canDelayRetry: false };
const HOLDING: HoldLimits = { holdMs: 1_800_000, canRenew: false, canDelayRetry: false };

function memoryHarness(limits: HoldLimits): PulledHarness {
  return {
    async open(now) {
      const { kind, queue } = createMemoryBroker({ limits, now });
      const orders = queue("orders");
      const { send, countLeft, countHeld, parked, loseTakers } = orders;
      return {
        kind,
        limits,
        options: { queue: "orders", idle_wait_s: 1 },
        send: async (body, message) => send(body, message),
        countLeft: async () => countLeft(),
        countHeld: async () => countHeld(),
        listParked: async () => parked,
        parking: {
          remove: async () => void (orders.canPark = false),
          restore: async () => void (orders.canPark = true),
        },
        loseTakers: async () => loseTakers(),
        close: async () => undefined,
      };
    },
  };
}

pulledSourceContract("memory, which renews", memoryHarness(RENEWING), RENEWING);
// What is acknowledged when it is stored is not held for long enough to make a difference.
pulledSourceContract("memory, which cannot renew", memoryHarness(HOLDING), HOLDING, DELIVERED_CHECKS);

/** The same, with something wrong in what takes. */
function withTaker(change: (taker: Taker) => Partial<Taker>, limits = RENEWING): PulledHarness {
  const harness = memoryHarness(limits);
  return {
    async open(now) {
      const place = await harness.open(now, undefined);
      const openTaker = async (settings: KindSettings) => {
        const taker = await place.kind.openTaker(settings);
        return { ...taker, ...change(taker) };
      };
      return { ...place, kind: { ...place.kind, openTaker } };
    },
  };
}

/** The same, with something wrong in the messages. */
function withMessages(change: (message: TakenMessage) => Partial<TakenMessage>, limits = RENEWING): PulledHarness {
  return withTaker(
    (taker) => ({
      take: async (...args) => (await taker.take(...args)).map((message) => ({ ...message, ...change(message) })),
    }),
    limits,
  );
}

/** What never comes need not be waited for. */
const impatient = (harness: PulledHarness): PulledHarness => ({ ...harness, patienceMs: 500 });

async function takeAndAcknowledge(taker: Taker, ...args: Parameters<Taker["take"]>) {
  const taken = await taker.take(...args);
  await Promise.all(taken.map((message) => message.acknowledge()));
  return taken;
}

/** Whoever gives a message another id whenever it comes cannot tell that it came before. */
function nameAnew(): (message: TakenMessage) => Partial<TakenMessage> {
  let named = 0;
  return () => ({ id: String(named++) });
}

describe("the contract of pulled sources", () => {
  const EAGER = withTaker((taker) => ({ take: (...args) => takeAndAcknowledge(taker, ...args) }));
  const FORGETFUL = { ...memoryHarness(RENEWING), broken: { forgetDedupe: true } };
  const PARKS_NOWHERE = withMessages(({ acknowledge }) => ({ park: acknowledge }));
  const LOSES = impatient(withMessages(({ acknowledge }) => ({ retry: acknowledge })));
  const HASTY = { ...memoryHarness(RENEWING), broken: { answerBeforeCommit: true } };
  const GREEDY = withTaker((taker) => ({ take: (_, waitMs) => taker.take(100, waitMs) }));
  const SLEEPY = withMessages(() => ({ renew: async () => "settled" }));

  const RENAMING = withMessages(nameAnew());
  /** Takes before it is asked to, and for nobody. */
  const UNASKED = impatient(
    withTaker((taker) => {
      void taker.take(1, 0);
      return { rest: async () => undefined };
    }),
  );
  const KEEPS = impatient(withMessages(() => ({ retry: async () => "settled" }), HOLDING));

  // shows: Q30
  it.each<[promise: RegExp, wrong: string, harness: PulledHarness]>([
    [/on disk and not before/, "answers before the commit", HASTY],
    [/on disk and not before/, "acknowledges what it takes", EAGER],
    [/taker died/, "forgets ids", FORGETFUL],
    [/same message once/, "forgets ids", FORGETFUL],
    [/neither acknowledges nor parks/, "acknowledges what it takes", EAGER],
    [/must mend/, "parks nowhere", PARKS_NOWHERE],
    [/no more messages than it may/, "takes as many as it likes", GREEDY],
    [/every delivery of its event has ended/, "acknowledges what it takes", EAGER],
    [/a delivery of its event is dead/, "parks nowhere", PARKS_NOWHERE],
    [/delivers it once/, "names messages anew", RENAMING],
    [/renews what it holds/, "does not renew", SLEEPY],
    [/at a stop/, "loses what it gives back", LOSES],
    [/disk is nearly full/, "takes unasked", UNASKED],
    [/source is paused/, "takes unasked", UNASKED],
    [/taken too often/, "parks nowhere", PARKS_NOWHERE],
    [/target is in QUEUE/, "takes as many as it likes", GREEDY],
    [/cannot hold any longer/, "keeps it", KEEPS],
    [/whose event died/, "parks nowhere", PARKS_NOWHERE],
    [/put back into its queue/, "forgets ids", FORGETFUL],
    [/what it cannot park/, "loses what it gives back", LOSES],
    [/what id_from finds/, "forgets ids", FORGETFUL],
  ])("fails what breaks %s: it %s (control)", async (promise, _, harness) => {
    const check = PULLED_CHECKS.find(({ name }) => promise.test(name));
    await expect(check?.run(harness)).rejects.toThrow(/^expected/);
  });
});
