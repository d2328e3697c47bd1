import { randomUUID } from "node:crypto";
import type { BrokerConnection, OutgoingMessage, Taker, TakenMessage, TakerOptions } from "../../src/queues/broker.ts";

/** A broker to try its promises on. */
export interface BrokerWorld {
  connect(): BrokerConnection;
  /** To a broker that is there, with a password or key that is wrong. */
  connectWithWrongCredentials(): BrokerConnection;
  /** To where nobody listens. */
  connectToNobody(): BrokerConnection;
  /** An empty queue that nobody else uses. */
  makeQueue(connection: BrokerConnection): Promise<BrokerQueue>;
  /** Some of the time for which a message is held is over, where that is told to a test server. */
  passSome(): void;
}

export interface BrokerQueue {
  name: string;
  publishTo: { destination: string; subject: string };
  parkTo: { destination: string; subject: string };
  /** What takes from where parked messages are. */
  parkedQueue: string;
}

/** A connection with a queue of the test's own. */
export interface Ready {
  world: BrokerWorld;
  connection: BrokerConnection;
  queue: BrokerQueue;
  take(options?: Partial<TakerOptions>): Taker;
  publish(...bodies: (string | Buffer)[]): Promise<void>;
}

export const ODD_BODY = Buffer.from([0, 1, 2, 0xff, 0xfe, 0x0a, 0x22, 0x7b, 0xc3, 0x28]);
const WAIT_MS = 60_000;

export function toMessage(
  body: string | Buffer,
  subject: string,
  more: Partial<OutgoingMessage> = {},
): OutgoingMessage {
  return {
    id: randomUUID(),
    body: Buffer.from(body),
    contentType: "application/octet-stream",
    subject,
    sessionId: undefined,
    correlationId: undefined,
    timestamp: Date.now(),
    properties: { event_type: "order.created" },
    ...more,
  };
}

/** As many as that, in as many calls as it takes. */
export async function takeSome(taker: Taker, count: number): Promise<TakenMessage[]> {
  const taken: TakenMessage[] = [];
  while (taken.length < count) taken.push(...(await taker.take(count - taken.length, WAIT_MS)));
  return taken;
}
