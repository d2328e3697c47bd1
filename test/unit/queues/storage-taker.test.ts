import type { DequeuedMessageItem, QueueClient } from "@azure/storage-queue";
import { describe, expect, it } from "vitest";
import { openStorageTaker } from "../../../src/queues/azure-storage-queue/storage-taker.ts";
import type { StorageCall } from "../../../src/queues/azure-storage-queue/storage-connection.ts";
import type { Taker } from "../../../src/queues/broker.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

/** Of a service that answers as it is told to. */
function openTaker(queue: Pick<QueueClient, "receiveMessages" | "updateMessage">): Taker {
  const call: StorageCall = (_, act) => act(queue as QueueClient);
  return openStorageTaker({
    queue: "orders",
    maxUnacknowledged: 10,
    holdMs: 30_000,
    parkTo: { destination: "", subject: "" },
    sessions: false,
    clock: createVirtualClock(createVirtualTime(0)),
    call,
    callWhenOpen: call,
  });
}

type Received = Awaited<ReturnType<QueueClient["receiveMessages"]>>;
const receivedWith = (...items: Partial<DequeuedMessageItem>[]) => ({ receivedMessageItems: items }) as Received;
const nothing = async () => ({}) as never;

describe("a consumer of a queue of Azure Storage", () => {
  it("asks for nothing more once it rests, so that it does not take what is given back meanwhile", async () => {
    let asked = 0;
    const receiveMessages = async () => {
      asked++;
      return receivedWith();
    };
    const taker = openTaker({ receiveMessages, updateMessage: nothing });
    const taking = taker.take(1, 60_000);
    await new Promise(setImmediate);
    expect(asked).toBe(1);
    await taker.rest();
    expect([await taking, asked]).toEqual([[], 1]);
  });

  it("does not hide a message again that it is giving back", async () => {
    const hiddenFor: unknown[] = [];
    const updateMessage: QueueClient["updateMessage"] = async (_, __, ___, forS) => {
      hiddenFor.push(forS);
      return {} as never;
    };
    const item = { messageId: "m", popReceipt: "its receipt", messageText: "", dequeueCount: 1 };
    const taker = openTaker({ receiveMessages: async () => receivedWith(item), updateMessage });
    const [message] = await taker.take(1, 0);
    const given = message?.retry();
    // Its time to be renewed has come meanwhile.
    expect([await message?.renew?.(), await given]).toEqual(["lost", "settled"]);
    expect(hiddenFor).toEqual([0]);
  });

  it("has given back what was on its way when it is closed", async () => {
    let answer: (received: Received) => void = () => {};
    const received = new Promise<Received>((resolve) => (answer = resolve));
    const hidden: unknown[][] = [];
    const updateMessage: QueueClient["updateMessage"] = async (...args) => {
      hidden.push(args);
      return {} as never;
    };
    const taker = openTaker({ receiveMessages: () => received, updateMessage });
    const taking = taker.take(1, 60_000);
    const closed = taker.close();
    answer(receivedWith({ messageId: "late", popReceipt: "its receipt", messageText: "", dequeueCount: 1 }));
    await closed;
    expect(hidden).toEqual([["late", "its receipt", undefined, 0]]);
    await expect(taking).rejects.toMatchObject({ kind: "closed" });
  });
});
