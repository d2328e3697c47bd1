import type { BrokerConnection, OutgoingMessage, Taker, TakenMessage } from "../../../src/queues/broker.ts";
import { NO_CONNECTIONS, type Connections } from "../../../src/queues/connections.ts";
import { createBrokerKind, type BrokerKindSpec } from "../../../src/sources/queue-kinds.ts";
import type { PulledPlace, SentMessage } from "../pulled-source-contract.ts";

/** A queue of a real broker, for the contract of pulled sources. */
export interface BrokerPlace {
  spec: BrokerKindSpec;
  connection: BrokerConnection;
  queue: string;
  publishTo: { destination: string; subject: string | undefined };
  options: Readonly<Record<string, unknown>>;
  /** Of those that are in the queue, how many nobody holds. */
  countReady(): Promise<number>;
  listParked: PulledPlace["listParked"];
  parking: PulledPlace["parking"];
  unreadable?: string;
  /** What goes into the queue for this. */
  write?(body: Buffer, message: SentMessage): Buffer;
}

export function openBrokerPlace(place: BrokerPlace): PulledPlace {
  const { spec, connection, publishTo } = place;
  /** What the gateway has taken and not settled: a broker does not say that of its takers. */
  const held = new Set<TakenMessage>();
  let left = 0;

  function watch(message: TakenMessage): TakenMessage {
    held.add(message);
    const leave = <Result>(result: Result): Result => {
      if (held.delete(message) && result === "settled") left--;
      return result;
    };
    const goBack = <Result>(result: Result): Result => {
      held.delete(message);
      return result;
    };
    return {
      ...message,
      acknowledge: () => message.acknowledge().then(leave),
      park: (...reason) => message.park(...reason).then(leave),
      retry: (...delay) => message.retry(...delay).then(goBack),
    };
  }

  function watchTaker(taker: Taker): Taker {
    return { ...taker, take: async (...args) => (await taker.take(...args)).map(watch) };
  }

  const watched = {
    ...connection,
    openTaker: (options) => watchTaker(connection.openTaker(options)),
  } as typeof connection;
  const connections: Connections = { ...NO_CONNECTIONS, find: () => watched };
  const publisher = connection.openPublisher(publishTo.destination);

  return {
    kind: createBrokerKind(spec, connections),
    limits: connection.limits,
    options: { queue: place.queue, idle_wait_s: 1, ...place.options },
    async send(given, message = {}) {
      left++;
      const body = Buffer.from(given);
      const outcome = await publisher.publish({
        ...toOutgoing(message),
        body: message.isBare === true ? body : (place.write?.(body, message) ?? body),
        subject: publishTo.subject,
      });
      if (outcome.outcome !== "confirmed") throw new Error(`not sent: ${JSON.stringify(outcome)}`);
    },
    // Settled just before its channel closed, a message comes again and is settled twice.
    countLeft: async () => Math.max(0, left),
    countHeld: async () => Math.max(0, left) - (await place.countReady()),
    listParked: place.listParked,
    parking: place.parking,
    async loseTakers() {
      // Not cleared at the end: by then the first may be held again.
      const lost = [...held];
      held.clear();
      for (const message of lost) await message.retry();
    },
    ...(place.unreadable !== undefined && { unreadable: place.unreadable }),
    close: () => connection.close(),
  };
}

function toOutgoing({ id = "", headers = {} }: SentMessage): Omit<OutgoingMessage, "body" | "subject"> {
  const { "content-type": contentType, ...properties } = headers;
  return { id, contentType, sessionId: undefined, correlationId: undefined, timestamp: Date.now(), properties };
}
