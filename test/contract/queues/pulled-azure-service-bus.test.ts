import { randomUUID } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { createBusConnection } from "../../../src/queues/azure-service-bus/bus-connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { AZURE_SERVICE_BUS } from "../../../src/sources/queue-kinds.ts";
import { BUS_HOLD_LIMITS } from "../../../src/queues/azure-service-bus/bus-taker.ts";
import { startServiceBus, type ServiceBusServer } from "../../support/service-bus/server.ts";
import { openBrokerPlace } from "../messages/broker-place.ts";
import { pulledSourceContract, type PulledPlace } from "../pulled-source-contract.ts";

const LOCK_MS = 300_000;
let server: ServiceBusServer;

beforeAll(async () => {
  server = await startServiceBus();
});

afterAll(() => server.stop());

async function open(): Promise<PulledPlace> {
  const queue = `test-${randomUUID()}`;
  const all = server.createQueue(queue, { maxDeliveryCount: 100, lockMs: LOCK_MS });
  const parked = () => server.queue(`${queue}/$DeadLetterQueue`).peek(0, 100, undefined);
  return openBrokerPlace({
    spec: AZURE_SERVICE_BUS,
    connection: createBusConnection({
      namespace: { connectionString: server.connectionString },
      clock: createSystemClock(),
      random: createSeededRandom(1),
    }),
    queue,
    publishTo: { destination: queue, subject: undefined },
    options: {},
    // Its dead letters cannot be deleted: the service refuses to take them.
    parking: {
      remove: async () => void (all.refusesDeadLetters = true),
      async restore() {
        all.refusesDeadLetters = false;
        // For the package such a message is settled, so it cannot be returned: it comes again when its lock is over.
        server.moveClock(LOCK_MS);
      },
    },
    countReady: async () => all.peek(0, 1000, undefined).filter(({ lock }) => lock === undefined).length,
    listParked: async () =>
      parked().map(({ message }) => {
        const { DeadLetterReason: code, DeadLetterErrorDescription: description } = (message.application_properties ??
          {}) as Record<string, unknown>;
        return { body: bodyOf(message.body), reason: { code: String(code), description: String(description) } };
      }),
  });
}

/** A data section, as rhea decodes it. */
function bodyOf(body: unknown): Buffer {
  const content = (body as { content?: unknown }).content ?? body;
  return Buffer.isBuffer(content) ? content : Buffer.from(String(content));
}

pulledSourceContract("azure-service-bus", { open: () => open() }, BUS_HOLD_LIMITS);
