import { expect, it, type TestContext } from "vitest";
import { takeSome, type Ready } from "./broker-world.ts";

/** Whoever deletes by what is seen must see all: a broker that cannot be sure says so. */
export function checkSeeAll(prepare: (context: TestContext) => Promise<Ready>): void {
  it("tells all that is in a queue, or that it does not know; never less", async (context) => {
    const { connection, queue, publish, take } = await prepare(context);
    const see = async (where: "waiting" | "parked") =>
      (await connection.seeAll(queue.name, where))?.map((body) => body.toString()).toSorted();
    const orUnknown = (bodies: string[]) => expect.toSatisfy((seen) => seen === undefined || isSame(seen, bodies));
    expect(await see("waiting")).toEqual(orUnknown([]));
    expect(await see("parked")).toEqual(orUnknown([]));

    await publish("one", "two", "three");
    expect(await see("waiting")).toEqual(orUnknown(["one", "three", "two"]));
    const taker = take({ maxUnacknowledged: 2 });
    const [held] = await takeSome(taker, 2);
    expect(await see("waiting")).toEqual(orUnknown(["one", "three", "two"]));
    await held?.park("invalid", "It is not valid.");
    const parked = [held?.body.toString() ?? ""];
    expect(await see("parked")).toEqual(orUnknown(parked));
    await taker.close();
  });

  it("says that it does not know where there are too many", async (context) => {
    const { connection, queue, publish } = await prepare(context);
    await publish(...Array.from({ length: 40 }, (_, n) => String(n)));
    const seen = await connection.seeAll(queue.name, "waiting");
    expect(seen === undefined || seen.length === 40).toBe(true);
  });
}

function isSame(seen: unknown, bodies: readonly string[]): boolean {
  return JSON.stringify(seen) === JSON.stringify(bodies);
}
