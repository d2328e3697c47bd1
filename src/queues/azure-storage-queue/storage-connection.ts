import type { QueueServiceClient } from "@azure/storage-queue";
import type { BrokerConnection, BrokerLimits, Publisher } from "../broker.ts";
import { closedFault, type BrokerFault } from "../broker-fault.ts";
import { createReconnecting, type LinkOptions } from "../reconnecting.ts";
import { describeAccount, openQueueService, type StorageAccount, toStorageFault } from "./storage-account.ts";
import { openStorageParked, seeAllOf } from "./storage-parked.ts";
import { openStorageTaker, STORAGE_HOLD_LIMITS } from "./storage-taker.ts";
import { encodeText, MAX_BODY_BYTES } from "./storage-text.ts";

export interface StorageConnection extends BrokerConnection {
  /** Creates the queue and the queue for parked messages, if they are missing. */
  declare(queue: string): Promise<void>;
  /** What is missing, one sentence each. */
  check(queue: string): Promise<string[]>;
}

interface StorageConnectionOptions extends LinkOptions {
  account: StorageAccount;
}

/** Makes one call; its result shows whether the connection works. Rejects with a BrokerFault. */
export type StorageCall = <Result>(act: (service: QueueServiceClient) => Promise<Result>) => Promise<Result>;

const LIMITS: BrokerLimits = { ...STORAGE_HOLD_LIMITS, maxMessageBytes: MAX_BODY_BYTES, countsHeld: true };
/** Messages stay until they are taken. */
const NEVER_EXPIRES = -1;

export function poisonQueueOf(queue: string): string {
  return `${queue}-poison`;
}

export function createStorageConnection(options: StorageConnectionOptions): StorageConnection {
  const { account, clock, random, onState } = options;
  const place = describeAccount(account);
  const link = createReconnecting<QueueServiceClient>({
    clock,
    random,
    onState,
    // There is no connection to open: only the first call shows whether it works.
    open: async () => ({ handle: await openQueueService(account), isProven: false }),
    shut: async () => undefined,
  });
  const takers = new Set<{ close(): Promise<void> }>();

  async function callOn<Result>(
    service: QueueServiceClient,
    act: (service: QueueServiceClient) => Promise<Result>,
  ): Promise<Result> {
    try {
      const result = await act(service);
      link.prove(service);
      return result;
    } catch (error) {
      const fault = toStorageFault(error, place);
      if (fault.isOfConnection) link.lose(service, fault);
      else link.prove(service);
      throw fault;
    }
  }
  const call: StorageCall = async (act) => callOn(await link.get(), act);
  const callWhenOpen: StorageCall = async (act) => callOn(await link.whenOpen(), act);

  function openPublisher(queue: string): Publisher {
    let isClosed = false;
    return {
      async publish({ body }) {
        if (isClosed) return { outcome: "failed", fault: closedFault(), mayHaveArrived: false };
        try {
          await call((service) =>
            service.getQueueClient(queue).sendMessage(encodeText(body), { messageTimeToLive: NEVER_EXPIRES }),
          );
          return { outcome: "confirmed" };
        } catch (error) {
          const fault = error as BrokerFault;
          return { outcome: "failed", fault, mayHaveArrived: fault.kind === "unreachable" };
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
    state: () => link.state(),
    openTaker(taker) {
      const opened = openStorageTaker({ ...taker, clock, call, callWhenOpen });
      takers.add(opened);
      return opened;
    },
    openPublisher,
    async depth(queue) {
      const { approximateMessagesCount = 0 } = await call((service) => service.getQueueClient(queue).getProperties());
      // Messages that are held are included.
      return { ready: approximateMessagesCount, held: 0 };
    },
    openParked: (place) => openStorageParked(place, call),
    seeAll: (queue, where) => seeAllOf(openStorageParked({ queue, parkedIn: namesOf(queue)[where] }, call)),
    async declare(queue) {
      for (const name of Object.values(namesOf(queue)))
        await call((service) => service.getQueueClient(name).createIfNotExists());
    },
    async check(queue) {
      const missing: string[] = [];
      for (const name of Object.values(namesOf(queue))) {
        const isThere = await call((service) => service.getQueueClient(name).exists());
        if (!isThere) missing.push(`queue ${name} is missing`);
      }
      return missing;
    },
    async close() {
      await Promise.all([...takers].map((taker) => taker.close()));
      await link.close();
    },
  };
}
