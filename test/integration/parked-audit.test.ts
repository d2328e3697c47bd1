import { cpSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BrokerConnection } from "../../src/queues/broker.ts";
import type { HeldParked, ParkedPlace, ParkedQueue } from "../../src/queues/parked.ts";
import type { PartMakers } from "../../src/gateway/start.ts";
import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import { startExampleQueue } from "../support/example-queue.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** The broker has the copy, and the answer to the next command does not come before `goOn`. */
function holdRemoval() {
  let [reach, goOn] = [() => {}, () => {}];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  const hold = (message: HeldParked): HeldParked => ({
    ...message,
    copyBack: () => message.copyBack(),
    async remove() {
      reach();
      await gate;
      return message.remove();
    },
  });
  const holdQueue = (queue: ParkedQueue): ParkedQueue => ({
    ...queue,
    openWalk() {
      const walk = queue.openWalk();
      return { ...walk, next: async (max) => (await walk.next(max)).map(hold) };
    },
  });
  const holdAll = <Connection extends BrokerConnection>(connection: Connection): Connection => ({
    ...connection,
    openParked: (place: ParkedPlace) => holdQueue(connection.openParked(place)),
  });
  const makers: PartMakers = {
    createConnections: (create) => (options) => {
      const connections = create(options);
      const find: typeof connections.find = (kind, name) => {
        const found = connections.find(kind, name);
        return found && holdAll(found);
      };
      return { ...connections, find };
    },
  };
  return { makers, reached, goOn };
}

async function actsOf(gateway: TestGateway): Promise<string[]> {
  const { json } = await gateway.get(`/api/v1/audit?id=${EXAMPLE.queueSource}&limit=100`);
  const acts = (json["data"] as { act: string }[]).map(({ act }) => act);
  return acts.filter((act) => act.startsWith("parked.")).reverse();
}

describe("what the audit log says of parked messages", () => {
  it("is on disk before the broker is asked, so that a crash in between leaves that it was begun", async () => {
    const queue = await startExampleQueue();
    onTestFinished(() => queue.close());
    const yaml = `sources: [${queue.source}]\n${queue.settings}`;
    const { makers, reached, goOn } = holdRemoval();
    const gateway = await startTestGateway({ yaml, makers });
    onTestFinished(() => gateway.close());
    const requeueing = gateway.post(`/api/v1/sources/${EXAMPLE.queueSource}/parked/requeue`, {});
    await reached;
    // The files as they are at this moment are what a killed process leaves.
    const prepare = (dataDir: string) => cpSync(gateway.dataDir, dataDir, { recursive: true });
    const next = await startTestGateway({ yaml, prepare });
    onTestFinished(() => next.close());
    expect(await actsOf(next)).toEqual(["parked.requeue"]);
    expect((await next.get("/api/v1/audit/verify")).json).toMatchObject({ valid: true });

    goOn();
    expect((await requeueing).json).toMatchObject({ requeued: 1 });
    expect(await actsOf(gateway)).toEqual(["parked.requeue", "parked.requeued"]);
  });

  it("says of a purge that was not confirmed that nothing was deleted", async () => {
    const queue = await startExampleQueue();
    onTestFinished(() => queue.close());
    const gateway = await startTestGateway({ yaml: `sources: [${queue.source}]\n${queue.settings}` });
    onTestFinished(() => gateway.close());
    const path = `/api/v1/sources/${EXAMPLE.queueSource}/parked/purge`;
    expect((await gateway.post(path, { count: 7 })).json["code"]).toBe("confirmation_required");
    expect((await gateway.post(path, { count: 1 })).json).toMatchObject({ purged: 1 });
    const { json } = await gateway.get(`/api/v1/audit?act=parked.purged`);
    expect((json["data"] as { details: unknown }[]).map(({ details }) => details)).toEqual([
      { purged: 1 },
      { purged: 0 },
    ]);
  });
});
