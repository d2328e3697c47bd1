import type { QueueClient, QueueServiceClient } from "@azure/storage-queue";
import type { BrokerConnection, BrokerLimits, Publisher } from "../broker.ts";
import { closedFault, type BrokerFault } from "../broker-fault.ts";
import { createReconnecting, type LinkOptions } from "../reconnecting.ts";
import { describeAccount, openQueueService, type StorageAccount, toStorageFault } from "./storage-account.ts";
import { openStorageParked, seeAllOf } from "./storage-parked.ts";
import { openStorageTaker, STORAGE_HOLD_LIMITS } from "./storage-taker.ts";
import { encodeText, MAX_BODY_BYTES, NEVER_EXPIRES } from "./storage-text.ts";

/** A queue is declared together with the queue for its parked messages. */
export type StorageConnection = BrokerConnection<string>;

interface StorageConnectionOptions extends LinkOptions {
  account: StorageAccount;
}

/** Makes one call to a queue; its result shows whether the connection works. Rejects with a BrokerFault. */
export type StorageCall = <Result>(queue: string, act: (client: QueueClient) => Promise<Result>) => Promise<Result>;

const LIMITS: BrokerLimits = { ...STORAGE_HOLD_LIMITS, maxMessageBytes: MAX_BODY_BYTES, countsHeld: true };
export function poisonQueueOf(queue: string): string {
  return `${queue}-poison`;
}

export function createStorageConnection(options: StorageConnectionOptions): StorageConnection {
  const { account, clock } = options;
  const place = describeAccount(account);
  const link = createReconnecting<QueueServiceClient>({
    ...options,
    toFault: (error) => toStorageFault(error, place),
    // There is no connection to open: only the first call shows whether it works.
    open: async () => ({ handle: await openQueueService(account), isProven: false }),
    shut: async () => undefined,
  });
  const call: StorageCall = (queue, act) => link.use((service) => act(service.getQueueClient(queue)));
  const callWhenOpen: StorageCall = (queue, act) =>
    link.use((service) => act(service.getQueueClient(queue)), link.whenOpen());

  function openPublisher(queue: string): Publisher {
    let isClosed = false;
    return {
      async publish({ body }) {
        if (isClosed) return { outcome: "failed", fault: closedFault() };
        try {
          await call(queue, (client) => client.sendMessage(encodeText(body), NEVER_EXPIRES));
          return { outcome: "confirmed" };
        } catch (error) {
          return { outcome: "failed", fault: error as BrokerFault };
        }
      },
      async close() {
        isClosed = true;
      },
    };
  }

  const namesOf = (queue: string) => ({ waiting: queue, parked: poisonQueueOf(queue) });

  return {
    limits: LIMITS,
    state: link.state,
    openTaker: (taker) => link.keep(openStorageTaker({ ...taker, clock, call, callWhenOpen })),
    openPublisher,
    async depth(queue) {
      const { approximateMessagesCount = 0 } = await call(queue, (client) => client.getProperties());
      // Messages that are held are included.
      return { ready: approximateMessagesCount, held: 0 };
    },
    openParked: (place) => openStorageParked(place, call),
    seeAll: (queue, where) => seeAllOf(openStorageParked({ queue, parkedIn: namesOf(queue)[where] }, call)),
    async declare(queue) {
      for (const name of Object.values(namesOf(queue))) await call(name, (client) => client.createIfNotExists());
    },
    async check(queue) {
      const differences: string[] = [];
      for (const name of Object.values(namesOf(queue))) {
        if (!(await call(name, (client) => client.exists()))) differences.push(`queue ${name} is missing`);
      }
      return { differences, unchecked: [] };
    },
    close: () => link.close(),
  };
}
