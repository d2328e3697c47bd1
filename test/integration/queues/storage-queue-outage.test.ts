import { randomUUID } from "node:crypto";
import { QueueServiceClient } from "@azure/storage-queue";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createStorageConnection,
  poisonQueueOf,
  type StorageConnection,
} from "../../../src/queues/azure-storage-queue/storage-connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { takeSome, toMessage } from "../../contract/broker-world.ts";
import { useAzurite } from "../../support/services/shared.ts";
import { openTcpGate, type TcpGate } from "../../support/tcp-gate.ts";

let gate: TcpGate;
let connectionString: string;
let connection: StorageConnection;
let queue: string;

beforeEach(async (context) => {
  const direct = await useAzurite(context);
  const port = /QueueEndpoint=http:\/\/127\.0\.0\.1:(\d+)/.exec(direct)?.[1] ?? "";
  gate = await openTcpGate(Number(port));
  connectionString = direct.replace(`:${port}/`, `:${gate.port}/`);
  queue = `outage-${randomUUID()}`;
  connection = createStorageConnection({
    account: { connectionString },
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
});

afterEach(async () => {
  await connection.close();
  await gate.close();
});

describe("an account that goes away and comes back", () => {
  it("is sent to and taken from again", async () => {
    await connection.declare(queue);
    const publisher = connection.openPublisher(queue);
    const taker = connection.openTaker({
      queue,
      maxUnacknowledged: 10,
      holdMs: 1000,
      parkTo: { destination: poisonQueueOf(queue), subject: "" },
      sessions: false,
    });
    expect(await publisher.publish(toMessage("before", ""))).toEqual({ outcome: "confirmed" });
    await gate.cut();
    const failed = await publisher.publish(toMessage("lost", ""));
    expect(failed).toMatchObject({ outcome: "failed", fault: { kind: "unreachable" } });
    expect(connection.state().state).toBe("failed");

    // It waits for as long as that takes.
    const taking = takeSome(taker, 1);
    await gate.open();
    const [message] = await taking;
    expect(message?.body.toString()).toBe("before");
    await message?.acknowledge();
    await expect.poll(() => publisher.publish(toMessage("after", ""))).toEqual({ outcome: "confirmed" });
    expect(connection.state()).toEqual({ state: "connected" });
  });

  it("says what is missing when it was emptied, and makes it anew", async () => {
    await connection.declare(queue);
    expect((await connection.check(queue)).differences).toEqual([]);
    const service = QueueServiceClient.fromConnectionString(connectionString);
    for (const name of [queue, poisonQueueOf(queue)]) await service.deleteQueue(name);
    expect((await connection.check(queue)).differences).toEqual([
      `queue ${queue} is missing`,
      `queue ${queue}-poison is missing`,
    ]);
    await connection.declare(queue);
    expect((await connection.check(queue)).differences).toEqual([]);
  });

  it("rejects what is too large with a word that says so, and takes what fits", async () => {
    await connection.declare(queue);
    const publisher = connection.openPublisher(queue);
    const largest = Buffer.alloc(connection.limits.maxMessageBytes, 0xff);
    expect(await publisher.publish(toMessage(largest, ""))).toEqual({ outcome: "confirmed" });
    const tooLarge = Buffer.alloc(64 * 1024, 0xff);
    expect(await publisher.publish(toMessage(tooLarge, ""))).toMatchObject({
      outcome: "failed",
      fault: { kind: "too_large" },
    });
    expect(connection.state()).toEqual({ state: "connected" });
  });
});
