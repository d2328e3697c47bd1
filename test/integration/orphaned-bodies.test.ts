import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import type { BrokerConnection, TakenMessage } from "../../src/queues/broker.ts";
import { createClaimCheck, createOrphanSweep } from "../../src/queues/claim-check.ts";
import { createConnections } from "../../src/queues/connections.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { until } from "../support/api-client.ts";
import { startServiceBus } from "../support/service-bus/server.ts";
import { useAzurite } from "../support/services/shared.ts";
import { startTestGateway } from "../support/test-gateway.ts";

const DAY_MS = 86_400_000;
const LARGE = 400_000;
const KINDS = ["azure-storage-queue", "azure-service-bus"] as const;

interface Run {
  number: number;
  result: string;
  summary: { deleted: number; kept: number; unreachable: number } | null;
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A gateway that keeps large bodies in a container of its own, and whoever takes its messages. */
async function openWorld(context: TestContext, kind: (typeof KINDS)[number]) {
  const account = await useAzurite(context);
  const bus = await startServiceBus();
  closing.push(() => bus.stop());
  const inputs = [
    { name: "default", kind: "azure-storage-queue", connection_string: account },
    { name: "default", kind: "azure-service-bus", connection_string: bus.connectionString },
  ] as const;
  const clock = createSystemClock();
  const connections = createConnections({
    connections: inputs,
    label: "test",
    clock,
    random: createSeededRandom(1),
  });
  closing.push(() => connections.close());
  const queue = `orphans-${randomUUID()}`;
  await connections.find("azure-storage-queue", "default")?.declare(queue);
  bus.createQueue(queue);
  const far = connections.find(kind, "default") as BrokerConnection;
  const container = `orphans-${randomUUID()}`;
  const claims = createClaimCheck({
    account: { connectionString: account },
    container,
    maxBytes: LARGE * 2,
  });
  const gateway = await startTestGateway({ yaml: JSON.stringify({ connections: inputs }) });
  closing.push(() => gateway.close());
  const destination = { queue, format: "message", claim_check: { container } };
  const subscription = { kind, events: ["to.queue"], destination, retry_policy: "standard" };
  await gateway.post("/api/v1/subscriptions", { name: "far", ...subscription });
  const lost = { ...destination, queue: `${queue}-missing` };
  await gateway.post("/api/v1/subscriptions", {
    name: "lost",
    ...subscription,
    events: ["to.nobody"],
    destination: lost,
  });
  const taker = far.openTaker({
    queue,
    maxUnacknowledged: 10,
    holdMs: 60_000,
    parkTo: { destination: `${queue}-poison`, subject: "" },
    sessions: false,
  });
  let deletedBefore = 0;
  const names = async () => (await claims.list(100)).bodies.map(({ name }) => name);

  return {
    gateway,
    claims,
    connections,
    /** Sends one, and resolves to the name of its body. */
    async send(type: string) {
      const before = await names();
      await gateway.publish({ event_type: type, payload: { text: "x".repeat(LARGE) } });
      await until(async () => (await names()).length === before.length + 1, undefined, "the body");
      return (await names()).find((name) => !before.includes(name)) as string;
    },
    async take(): Promise<TakenMessage> {
      let taken: TakenMessage[] = [];
      while (taken.length === 0) taken = await taker.take(1, 10_000);
      return taken[0] as TakenMessage;
    },
    names,
    /** Runs the job, and tells what is left to it and what was deleted since the last time, by its own runs too. */
    async run() {
      let number: unknown;
      await until(async () => {
        const { status, json } = await gateway.post("/api/v1/jobs/delete-orphaned-bodies/run");
        number = json["run"];
        return status === 202;
      });
      let runs: readonly Run[] = [];
      await until(async () => {
        const { data } = (await gateway.get("/api/v1/jobs")).json as { data: { name: string; runs: Run[] }[] };
        runs = data.find(({ name }) => name === "delete-orphaned-bodies")?.runs ?? [];
        return runs.some((one) => one.number === number && one.result !== "running");
      });
      const own = runs.find((one) => one.number === number);
      const deleted = runs.reduce((sum, { summary }) => sum + (summary?.deleted ?? 0), 0) - deletedBefore;
      deletedBefore += deleted;
      return [own?.result, { ...own?.summary, deleted }];
    },
  };
}

describe.each(KINDS)("bodies in Blob storage that no message asks for, with %s", (kind) => {
  // shows: Q50, Q52
  it("are deleted a week later; those of waiting, parked and unsent messages stay", async (context) => {
    const { gateway, send, take, names, run } = await openWorld(context, kind);
    const orphan = await send("to.queue");
    // As if whoever took it had died before the body was deleted.
    await (await take()).acknowledge();
    const parked = await send("to.queue");
    await (await take()).park("invalid", "It is not valid.");
    const waiting = await send("to.queue");
    const unsent = await send("to.nobody");
    expect((await names()).toSorted()).toEqual([orphan, parked, waiting, unsent].toSorted());

    expect(await run()).toEqual(["success", { deleted: 0, kept: 0, unreachable: 0 }]);
    gateway.moveClock(8 * DAY_MS);
    expect(await run()).toEqual(["success", { deleted: 1, kept: 2, unreachable: 0 }]);
    expect((await names()).toSorted()).toEqual([parked, waiting, unsent].toSorted());
    await (await take()).acknowledge();
    expect(await run()).toEqual(["success", { deleted: 1, kept: 1, unreachable: 0 }]);
    expect((await names()).toSorted()).toEqual([parked, unsent].toSorted());
  });

  // shows: Q52
  it("would be all of them if the queues were not looked at (control)", async (context) => {
    const { send, take, names, claims } = await openWorld(context, kind);
    await send("to.queue");
    await (await take()).park("invalid", "It is not valid.");
    await send("to.queue");
    const blind = { find: () => ({ seeAll: async () => [] }) } as never;
    const origin = (await claims.list(1)).bodies[0]?.owner?.origin ?? "";
    const options = { claims, origin, hasEnded: async () => true, putBefore: Date.now() + DAY_MS };
    expect(await createOrphanSweep({ ...options, connections: blind }).next(100)).toMatchObject({ deleted: 2 });
    expect(await names()).toEqual([]);
  });
});

describe("bodies in Blob storage", () => {
  it("stay while somebody holds a message, for nobody can look into that", async (context) => {
    const { gateway, send, take, names, run } = await openWorld(context, "azure-storage-queue");
    await send("to.queue");
    await (await take()).acknowledge();
    await send("to.queue");
    const held = await take();
    gateway.moveClock(8 * DAY_MS);
    expect(await run()).toEqual(["success", { deleted: 0, kept: 2, unreachable: 0 }]);
    expect(await names()).toHaveLength(2);
    await held.acknowledge();
    expect(await run()).toEqual(["success", { deleted: 2, kept: 0, unreachable: 0 }]);
  });

  // shows: Q52
  it("stay when another store put them, or nobody knows who", async (context) => {
    const { gateway, send, take, names, run, claims } = await openWorld(context, "azure-storage-queue");
    const name = await send("to.queue");
    await (await take()).acknowledge();
    const owner = (await claims.list(1)).bodies[0]?.owner;
    if (owner === undefined) throw new Error("the body has no owner");
    await claims.put("of-another", Buffer.from("a"), { ...owner, origin: "elsewhere" });
    await claims.put("of-an-exchange", Buffer.from("a"), { ...owner, broker: "amqp" });
    await claims.put("of-a-connection-that-left", Buffer.from("a"), { ...owner, connection: "gone" });
    gateway.moveClock(8 * DAY_MS);
    expect(await run()).toEqual(["success", { deleted: 1, kept: 1, unreachable: 0 }]);
    expect(await names()).not.toContain(name);
    expect(await names()).toHaveLength(3);
  });
});
