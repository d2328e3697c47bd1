import { randomUUID } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { createBusConnection } from "../../../src/queues/azure-service-bus/bus-connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { findFreePort } from "../../support/free-port.ts";
import { startServiceBus, type ServiceBusServer } from "../../support/service-bus/server.ts";
import { brokerContract } from "../broker-contract.ts";
import type { BrokerWorld } from "../broker-world.ts";

/** A real namespace, or Microsoft's emulator, in place of the test server. */
const REAL = process.env["POSTHORN_TEST_SERVICEBUS_CONNECTION_STRING"];

let server: ServiceBusServer | undefined;

beforeAll(async () => {
  if (REAL === undefined) server = await startServiceBus();
});

afterAll(async () => {
  await server?.stop();
});

brokerContract("Azure Service Bus", { canRenew: true, canPage: true }, openWorld);

async function openWorld(): Promise<BrokerWorld> {
  const connectionString = REAL ?? server?.connectionString ?? "";
  const nobody = await findFreePort();
  const connectTo = (address: string) =>
    createBusConnection({
      namespace: { connectionString: address },
      clock: createSystemClock(),
      random: createSeededRandom(1),
    });
  return {
    connect: () => connectTo(connectionString),
    connectWithWrongCredentials: () =>
      connectTo(connectionString.replace(/SharedAccessKey=[^;]*/, "SharedAccessKey=wrong-secret")),
    connectToNobody: () => connectTo(connectionString.replace(/sb:\/\/[^;]*/, `sb://127.0.0.1:${nobody}`)),
    async makeQueue() {
      const name = `test-${randomUUID()}`;
      const connection = connectTo(connectionString);
      await connection.declare({ queue: name, sessions: false });
      await connection.close();
      return {
        name,
        publishTo: { destination: name, subject: "order.created" },
        parkTo: { destination: "", subject: "" },
        parkedQueue: `${name}/$DeadLetterQueue`,
      };
    },
    passSome: () => server?.moveClock(30_000),
  };
}
