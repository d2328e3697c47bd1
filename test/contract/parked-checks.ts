import { expect, it, type TestContext } from "vitest";
import { findParked, listParked, purgeParked, requeueParked } from "../../src/queues/parked-messages.ts";
import type { HeldParked, ParkedMessage, ParkedQueue } from "../../src/queues/parked.ts";
import { ODD_BODY, takeSome, type Ready } from "./broker-world.ts";

interface ReadyParked extends Ready {
  parked: ParkedQueue;
  /** Sends each body and parks it for its reason. */
  park(...messages: (readonly [body: string | Buffer, reason: string])[]): Promise<void>;
  /** What the queue itself has now, acknowledged. */
  drain(): Promise<string[]>;
}

const WHOLE = { max: 100 };

/** What every kind of broker promises about messages that were parked. */
export function checkParked(canPage: boolean, prepare: (context: TestContext) => Promise<Ready>): void {
  async function prepareParked(context: TestContext): Promise<ReadyParked> {
    const ready = await prepare(context);
    const { connection, queue, take, publish } = ready;
    const parked = connection.openParked({ queue: queue.name, parkedIn: queue.parkedQueue });
    return {
      ...ready,
      parked,
      async park(...messages) {
        const taker = take();
        for (const [body, reason] of messages) {
          await publish(body);
          const [message] = await takeSome(taker, 1);
          expect(await message?.park(reason, `It is ${reason}.`)).toBe("settled");
        }
        await taker.close();
        await expect.poll(() => parked.count()).toBe(messages.length);
      },
      async drain() {
        const { ready } = await connection.depth(queue.name);
        const taker = take();
        const bodies: string[] = [];
        for (const message of await takeSome(taker, ready)) {
          bodies.push(message.body.toString());
          await message.acknowledge();
        }
        await taker.close();
        return bodies.toSorted();
      },
    };
  }

  it("lists what is parked, with its reason, and filters by it", async (context) => {
    const { parked, park, queue } = await prepareParked(context);
    await park([ODD_BODY, "corrupt"], ["b", "dead"], ["c", "dead"]);

    const { messages } = await listParked(parked, {}, WHOLE);
    expect(messages.map(({ reason, description, cameFrom }) => ({ reason, description, cameFrom }))).toEqual(
      ["corrupt", "dead", "dead"].map((reason) => ({ reason, description: `It is ${reason}.`, cameFrom: queue.name })),
    );
    expect(messages[0]?.body).toEqual(ODD_BODY);
    expect(bodiesOf((await listParked(parked, { reason: "dead" }, WHOLE)).messages)).toEqual(["b", "c"]);
    expect((await listParked(parked, { reason: "other" }, WHOLE)).messages).toEqual([]);

    const [, second] = messages;
    expect((await findParked(parked, second?.key ?? ""))?.body.toString()).toBe("b");
    expect(await findParked(parked, "12345678")).toBeUndefined();
  });

  it("tells apart what is settled in one moment, each as it is meant", async (context) => {
    const { parked, publish, take } = await prepareParked(context);
    await publish("done", "first", "second", "again", "done");
    const taker = take();
    const settled = (await takeSome(taker, 5)).map((message) => {
      const body = message.body.toString();
      if (body === "done") return message.acknowledge();
      return body === "again" ? message.retry() : message.park(body, `It is the ${body}.`);
    });
    expect(await Promise.all(settled)).toEqual(settled.map(() => "settled"));
    expect(bodiesOf(await takeSome(taker, 1))).toEqual(["again"]);

    await expect.poll(() => parked.count()).toBe(2);
    const { messages } = await listParked(parked, {}, WHOLE);
    const reasons = messages.map(({ body, reason }) => [body.toString(), reason]);
    expect(Object.fromEntries(reasons)).toEqual({ first: "first", second: "second" });
    await taker.close();
  });

  it.for(canPage ? [WHOLE] : [])("lists page after page, where it can", async (_, context) => {
    const { parked, park } = await prepareParked(context);
    await park(["1", "dead"], ["2", "dead"], ["3", "corrupt"], ["4", "dead"], ["5", "dead"]);

    const found: string[][] = [];
    let after: string | undefined;
    do {
      const { messages, next } = await listParked(parked, { reason: "dead" }, { max: 2, after });
      found.push(bodiesOf(messages));
      after = next;
    } while (after !== undefined);
    expect(found.flat()).toEqual(["1", "2", "4", "5"]);
    expect(found[0]).toEqual(["1", "2"]);
  });

  it("leaves what it looks at where it was", async (context) => {
    const { connection, parked, park, queue } = await prepareParked(context);
    await park(["looked at", "dead"]);
    for (let look = 0; look < 3; look++) expect((await listParked(parked, {}, WHOLE)).messages).toHaveLength(1);

    const taker = connection.openTaker({
      queue: queue.parkedQueue,
      maxUnacknowledged: 1,
      holdMs: 3000,
      parkTo: queue.parkTo,
      sessions: false,
    });
    const [message] = await takeSome(taker, 1);
    expect(message?.deliveryCount === 1 || parked.limits.countsLooks).toBe(true);
    await message?.acknowledge();
  });

  it("requeues to where it came from, as it was", async (context) => {
    const { parked, take, publish } = await prepareParked(context);
    const taker = take();
    await publish("as it was", "left");
    const [first, second] = await takeSome(taker, 2);
    const [before, left] = first?.body.toString() === "left" ? [second, first] : [first, second];
    await before?.park("dead", "It could not be delivered.");
    await left?.park("corrupt", "It cannot be read.");
    await expect.poll(() => parked.count()).toBe(2);

    const requeued = await requeueParked(parked, { reason: "dead" });
    expect(requeued).toEqual({ requeued: 1, withoutOrigin: 0, isCutOff: false });
    const [after] = await takeSome(taker, 1);
    expect(after?.body.toString()).toBe("as it was");
    expect(after).toMatchObject({
      contentType: before?.contentType,
      subject: before?.subject,
      ...(parked.limits.keepsId && { id: before?.id }),
    });
    expect(Object.keys(after?.properties ?? {}).filter((property) => /reason|description/i.test(property))).toEqual([]);
    await after?.acknowledge();
    await expect.poll(async () => bodiesOf((await listParked(parked, {}, WHOLE)).messages)).toEqual(["left"]);
  });

  it("requeues a second time what was parked again", async (context) => {
    const { parked, park, take, drain } = await prepareParked(context);
    await park(["again and again", "dead"]);
    expect(await requeueParked(parked, {})).toMatchObject({ requeued: 1 });
    const taker = take();
    const [message] = await takeSome(taker, 1);
    expect(await message?.park("dead", "Once more.")).toBe("settled");
    await taker.close();
    await expect.poll(() => parked.count()).toBe(1);
    expect(await requeueParked(parked, {})).toMatchObject({ requeued: 1 });
    expect(await drain()).toEqual(["again and again"]);
  });

  it("loses nothing when it is interrupted between copying and removing", async (context) => {
    const { parked, park, drain } = await prepareParked(context);
    await park(["1", "dead"], ["2", "dead"], ["3", "dead"]);
    const interrupted = interruptAt(parked, "remove", 2);
    await expect(requeueParked(interrupted, {})).rejects.toThrow("killed");

    await expect.poll(() => parked.count()).toBe(2);
    expect(await requeueParked(parked, {})).toMatchObject({ requeued: 2 });
    expect(new Set(await drain())).toEqual(new Set(["1", "2", "3"]));
  });

  it("(control) would lose one if it removed first", async (context) => {
    const { parked, park, drain } = await prepareParked(context);
    await park(["1", "dead"], ["2", "dead"], ["3", "dead"]);
    const interrupted = interruptAt(swapSteps(parked), "remove", 2);
    await expect(requeueParked(interrupted, {})).rejects.toThrow("killed");

    await expect.poll(() => parked.count()).toBe(1);
    await requeueParked(parked, {});
    expect(await drain()).toHaveLength(2);
  });

  it("purges only as many as are named, and says how many there are", async (context) => {
    const { parked, park } = await prepareParked(context);
    await park(["1", "dead"], ["2", "corrupt"], ["3", "dead"]);
    expect(await purgeParked(parked, {}, 2)).toEqual({ current: 3 });
    expect(await purgeParked(parked, { reason: "dead" }, 3)).toEqual({ current: 2 });
    await expect.poll(() => parked.count()).toBe(3);
    expect(await purgeParked(parked, { reason: "dead" }, 2)).toEqual({ purged: 2, isCutOff: false });
    await expect.poll(async () => bodiesOf((await listParked(parked, {}, WHOLE)).messages)).toEqual(["2"]);
    await expect.poll(() => parked.count()).toBe(1);
    expect(await purgeParked(parked, {}, 1)).toEqual({ purged: 1, isCutOff: false });
    await expect.poll(() => parked.count()).toBe(0);
  });

  it("says that there is no queue of parked messages", async (context) => {
    const { connection, queue } = await prepareParked(context);
    const none = connection.openParked({
      queue: `${queue.name}-not-there`,
      parkedIn: `${queue.parkedQueue}-not-there`,
    });
    await expect(none.count()).rejects.toMatchObject({ kind: "not_found" });
    await expect(listParked(none, {}, WHOLE)).rejects.toMatchObject({ kind: "not_found" });
    await expect(requeueParked(none, {})).rejects.toMatchObject({ kind: "not_found" });
  });
}

function bodiesOf(messages: readonly Pick<ParkedMessage, "body">[]): string[] {
  return messages.map(({ body }) => body.toString());
}

function changeHeld(queue: ParkedQueue, change: (message: HeldParked) => HeldParked): ParkedQueue {
  return {
    ...queue,
    openWalk() {
      const walk = queue.openWalk();
      return { ...walk, next: async (max) => (await walk.next(max)).map(change) };
    },
  };
}

/** Whoever works is killed right before that step of the message with this number. */
function interruptAt(queue: ParkedQueue, step: "copyBack" | "remove", number: number): ParkedQueue {
  let steps = 0;
  return changeHeld(queue, (message) => ({
    ...message,
    [step]() {
      if (++steps === number) throw new Error("killed");
      return message[step]();
    },
  }));
}

function swapSteps(queue: ParkedQueue): ParkedQueue {
  return changeHeld(queue, (message) => ({
    ...message,
    copyBack: async () => void (await message.remove()),
    async remove() {
      await message.copyBack();
      return "settled";
    },
  }));
}
