import { createHash, randomBytes, randomUUID } from "node:crypto";
import type { BrokerConnection } from "../../../src/queues/broker.ts";
import type { SentEvent } from "../accounting.ts";

/** An Event that was put into a queue, with what its broker said to it. */
export interface PublishedEvent extends SentEvent {
  queue: string;
  eventId: string;
  /** When it was published the last time, by the machine's clock. */
  sentAtMs: number;
}

export interface PublishLoadOptions {
  connection: BrokerConnection;
  queues: readonly string[];
  /** Where a message goes that is for this queue. */
  address: (queue: string) => { publisher: string; subject: string | undefined };
  ledger: PublishedEvent[];
  /** Publishes nothing more once it is set. */
  signal: AbortSignal;
  /** Waited for before each. */
  pace: () => Promise<void>;
}

const PUBLISHERS_PER_QUEUE = 3;
const TRY_AGAIN_MS = 50;
let stamp = 0;

/** Publishes until the signal is set; each publisher waits for the answer to one before the next. */
export async function publishLoad(options: PublishLoadOptions): Promise<void> {
  const { connection, queues, address, ledger, signal, pace } = options;

  async function publishTo(queue: string): Promise<void> {
    const { publisher: destination, subject } = address(queue);
    const publisher = connection.openPublisher(destination);
    while (!signal.aborted) {
      await pace();
      if (signal.aborted) break;
      const eventId = randomUUID();
      const payload = JSON.stringify({ queue, filler: randomBytes(100).toString("hex") });
      const sent: PublishedEvent = {
        queue,
        eventId,
        hash: createHash("sha256").update(payload).digest("base64url"),
        tenantId: "default",
        orderingKey: undefined,
        sentAt: ++stamp,
        answeredAt: Number.POSITIVE_INFINITY,
        sentAtMs: Date.now(),
        answer: "unknown",
        deliveries: 1,
      };
      const message = {
        id: eventId,
        body: Buffer.from(
          `{"event_id":"${eventId}","event_type":"load.sent","source":"${queue}","payload":${payload}}`,
        ),
        contentType: "application/json",
        subject,
        sessionId: undefined,
        correlationId: undefined,
        timestamp: Date.now(),
        properties: {},
      };
      // The same again while the broker is away, or was emptied a moment ago: it may have arrived before.
      let published = await publisher.publish(message);
      while (published.outcome !== "confirmed" && !signal.aborted) {
        await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
        sent.sentAtMs = Date.now();
        published = await publisher.publish(message);
      }
      sent.answer = published.outcome === "confirmed" ? "acknowledged" : "unknown";
      sent.answeredAt = ++stamp;
      ledger.push(sent);
    }
  }

  await Promise.all(queues.flatMap((queue) => Array.from({ length: PUBLISHERS_PER_QUEUE }, () => publishTo(queue))));
}
