import { randomUUID } from "node:crypto";
import type { TestContext } from "vitest";
import { createStorageConnection, poisonQueueOf } from "../../../src/queues/azure-storage-queue/storage-connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { findFreePort } from "../../support/free-port.ts";
import { useAzurite } from "../../support/services/shared.ts";
import { brokerContract } from "../broker-contract.ts";
import type { BrokerWorld } from "../broker-world.ts";

brokerContract("Azure Storage Queue", { canRenew: true, canPage: false }, openWorld);

async function openWorld(context: TestContext): Promise<BrokerWorld> {
  const connectionString = await useAzurite(context);
  const nobody = await findFreePort();
  const wrongKey = Buffer.from("wrong-secret").toString("base64");
  const connectTo = (address: string) =>
    createStorageConnection({
      account: { connectionString: address },
      clock: createSystemClock(),
      random: createSeededRandom(1),
    });
  return {
    connect: () => connectTo(connectionString),
    connectWithWrongCredentials: () =>
      connectTo(connectionString.replace(/AccountKey=[^;]*/, `AccountKey=${wrongKey}`)),
    connectToNobody: () =>
      connectTo(connectionString.replace(/(QueueEndpoint=http:\/\/127\.0\.0\.1:)\d+/, `$1${nobody}`)),
    async makeQueue() {
      const name = `test-${randomUUID()}`;
      const connection = connectTo(connectionString);
      await connection.declare(name);
      await connection.close();
      return {
        name,
        publishTo: { destination: name, subject: "" },
        parkTo: { destination: poisonQueueOf(name), subject: "" },
        parkedQueue: poisonQueueOf(name),
      };
    },
    passSome: () => undefined,
  };
}
