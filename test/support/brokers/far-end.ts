import { createHash } from "node:crypto";
import type { BrokerConnection, Taker, TakenMessage } from "../../../src/queues/broker.ts";
import type { Arrival } from "../accounting.ts";
import { until } from "../api-client.ts";

/** Whoever takes from queues what a gateway has published there with `format: event`, also after the broker was away. */
export interface FarEnd {
  /** What each publishing brought, in the order of coming; that a broker hands out a message again is no arrival. */
  readonly arrivals: readonly Arrival[];
  /** Of those, the ones that nobody was handed before. */
  readonly firstHanded: readonly Arrival[];
  /** Resolves when the queues are empty and nothing more has come for a while. */
  emptied(): Promise<void>;
  close(): Promise<void>;
}

const WAIT_MS = 200;
/** Looks in a row that find nothing. */
const QUIET_LOOKS = 5;

/** Queues are named like the subscriptions that lead to them. */
export function openFarEnd(connection: BrokerConnection, queues: readonly string[]): FarEnd {
  const arrivals: Arrival[] = [];
  const firstHanded: Arrival[] = [];
  const seen = new Set<string>();
  const comings = new Map<string, number>();
  const quiet = new Map<string, number>();
  const ending = new AbortController();

  function record(queue: string, { id, body, deliveryCount }: TakenMessage): void {
    const event = JSON.parse(body.toString()) as { event_id: string; published_at: string; payload: unknown };
    // Each attempt writes when it is made, and Azure Storage gives each message an id.
    const publishing = `${queue} ${id} ${event.event_id} ${event.published_at}`;
    if (seen.has(publishing)) return;
    seen.add(publishing);
    const delivery = `${queue} ${event.event_id}`;
    const attempt = (comings.get(delivery) ?? 0) + 1;
    comings.set(delivery, attempt);
    const hash = createHash("sha256").update(JSON.stringify(event.payload)).digest("base64url");
    const arrival = { eventId: event.event_id, subscription: queue, attempt, hash, accepted: true };
    arrivals.push(arrival);
    if (deliveryCount <= 1) firstHanded.push(arrival);
  }

  async function takeFrom(queue: string, taker: Taker): Promise<void> {
    while (!ending.signal.aborted) {
      // A queue that is missing is made again.
      const messages = await taker.take(100, WAIT_MS).catch(() => undefined);
      quiet.set(queue, messages?.length === 0 ? (quiet.get(queue) ?? 0) + 1 : 0);
      if (messages === undefined) await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
      for (const message of messages ?? []) {
        record(queue, message);
        await message.acknowledge().catch(() => undefined);
      }
    }
  }

  const takers = queues.map((queue) => ({
    queue,
    taker: connection.openTaker({
      queue,
      maxUnacknowledged: 100,
      holdMs: 5000,
      parkTo: { destination: "", subject: "" },
      sessions: false,
    }),
  }));
  const taking = takers.map(({ queue, taker }) => takeFrom(queue, taker));
  return {
    arrivals,
    firstHanded,
    async emptied() {
      quiet.clear();
      await until(() => queues.every((queue) => (quiet.get(queue) ?? 0) >= QUIET_LOOKS), undefined, "quiet queues");
      await until(
        async () => {
          const depths = await Promise.all(queues.map((queue) => connection.depth(queue)));
          return depths.every(({ ready, held = 0 }) => ready + held === 0);
        },
        undefined,
        "empty queues",
      );
    },
    async close() {
      ending.abort();
      await Promise.all(takers.map(({ taker }) => taker.close().catch(() => undefined)));
      await Promise.all(taking);
    },
  };
}
