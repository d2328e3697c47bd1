import { expect, it } from "vitest";
import { createPullers, type PullersOptions } from "../../../src/intake/messages/pullers.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import type { Source } from "../../../src/model/source.ts";
import type { Taker, TakenMessage } from "../../../src/queues/broker.ts";
import type { PulledSourceKind } from "../../../src/sources/source-kind.ts";

it("has given back what an abandoned call brought when it is stopped", async () => {
  let bring: (messages: TakenMessage[]) => void = () => {};
  let settle = () => {};
  let ask = () => {};
  const asked = new Promise<void>((resolve) => (ask = resolve));
  const brought = new Promise<TakenMessage[]>((resolve) => (bring = resolve));
  const retried = new Promise<"settled">((resolve) => (settle = () => resolve("settled")));
  const taker: Taker = {
    limits: { holdMs: 30_000, canRenew: true, canDelayRetry: false },
    take() {
      ask();
      return brought;
    },
    rest: async () => {},
    close: async () => bring([{ ...message, retry: () => retried } as unknown as TakenMessage]),
  };
  const message = { id: "late", body: Buffer.from("{}"), properties: {}, deliveryCount: 1 };
  const kind: PulledSourceKind = {
    name: "memory",
    isPulled: true,
    needsSecret: false,
    openTaker: async () => taker,
    depth: async () => 0,
  };
  const source = { name: "orders", kind: kind.name, status: "active", settings: { options: { queue: "orders" } } };
  const pullers = createPullers({
    listSources: () => [source as unknown as Source],
    kinds: new Map([[kind.name, kind]]),
    clock: createSystemClock(),
    maxHeld: () => 1,
    onTrouble: () => undefined,
  } as unknown as PullersOptions);
  pullers.start();
  await asked;

  let isStopped = false;
  const stopped = pullers.stop().then(() => (isStopped = true));
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  settle();
  await stopped;
});
