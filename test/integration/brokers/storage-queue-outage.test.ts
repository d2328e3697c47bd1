import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createStorageConnection,
  poisonQueueOf,
  type StorageConnection,
} from "../../../src/brokers/azure-storage-queue/storage-connection.ts";
import { createSeededRandom } from "../../../src/domain/seeded-random.ts";
import { createSystemClock } from "../../../src/domain/system-clock.ts";
import { takeSome, toMessage } from "../../contract/broker-world.ts";
import { startAzurite, type Azurite } from "../../support/services/azurite.ts";
import { skipWithoutService } from "../../support/skip.ts";

let azurite: Azurite | undefined;
let connection: StorageConnection;

beforeEach(async (context) => {
  azurite = await startAzurite();
  if (azurite === undefined) skipWithoutService(context, "Azurite");
  connection = createStorageConnection({
    account: { connectionString: azurite.connectionString },
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
});

afterEach(async () => {
  await connection.close();
  await azurite?.close();
});

describe("an account that goes away and comes back", () => {
  it("is sent to and taken from again", async () => {
    await connection.declare("webhooks");
    const publisher = connection.openPublisher("webhooks");
    const taker = connection.openTaker({
      queue: "webhooks",
      maxUnacknowledged: 10,
      holdMs: 1000,
      parkTo: { destination: poisonQueueOf("webhooks"), subject: "" },
      sessions: false,
    });
    expect(await publisher.publish(toMessage("before", ""))).toEqual({ outcome: "confirmed" });
    await azurite?.stop();
    const failed = await publisher.publish(toMessage("lost", ""));
    expect(failed).toMatchObject({ outcome: "failed", fault: { kind: "unreachable" } });
    expect(connection.state().state).toBe("failed");

    // It waits for as long as that takes.
    const taking = takeSome(taker, 1);
    await azurite?.start();
    const [message] = await taking;
    expect(message?.body.toString()).toBe("before");
    await message?.acknowledge();
    await expect.poll(() => publisher.publish(toMessage("after", ""))).toEqual({ outcome: "confirmed" });
    expect(connection.state()).toEqual({ state: "connected" });
  });

  it("says what is missing when it was emptied, and makes it anew", async () => {
    await connection.declare("webhooks");
    expect(await connection.check("webhooks")).toEqual([]);
    await azurite?.close();
    azurite = await startAzurite();
    const emptied = createStorageConnection({
      account: { connectionString: azurite?.connectionString ?? "" },
      clock: createSystemClock(),
      random: createSeededRandom(1),
    });
    expect(await emptied.check("webhooks")).toEqual(["queue webhooks is missing", "queue webhooks-poison is missing"]);
    await emptied.declare("webhooks");
    expect(await emptied.check("webhooks")).toEqual([]);
    await emptied.close();
  });

  it("refuses what is too large with a word that says so, and takes what fits", async () => {
    await connection.declare("webhooks");
    const publisher = connection.openPublisher("webhooks");
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
