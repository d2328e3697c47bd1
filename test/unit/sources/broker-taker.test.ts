import { expect, it } from "vitest";
import type { QueueTaker, TakenMessage } from "../../../src/queues/broker.ts";
import { adaptTaker } from "../../../src/sources/broker-taker.ts";

it("has given back what an abandoned call brought when it is closed", async () => {
  let bring: (messages: TakenMessage[]) => void = () => {};
  let settle = () => {};
  const brought = new Promise<TakenMessage[]>((resolve) => (bring = resolve));
  const retried = new Promise<"settled">((resolve) => (settle = () => resolve("settled")));
  const queue: QueueTaker = { take: () => brought, rest: async () => {}, close: async () => {} };
  const taker = adaptTaker({ taker: queue, waitMs: 1000, depth: async () => 0, placesOf: () => [] });
  const abandoned = new AbortController();
  const taking = taker.take(1, abandoned.signal);
  abandoned.abort();
  expect(await taking).toEqual([]);

  const message = { id: "late", body: Buffer.from("{}"), properties: {}, deliveryCount: 1 };
  bring([{ ...message, retry: () => retried } as unknown as TakenMessage]);
  let isClosed = false;
  const closed = taker.close().then(() => (isClosed = true));
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  settle();
  await closed;
});
