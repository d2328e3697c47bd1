import { setTimeout as wait } from "node:timers/promises";
import type { Story } from "../../support/example.ts";
import { createFarmEvent, createOrder, createReading, type DairyEvent } from "./events.ts";

/** Takes events to the gateway; resolves when they are accepted. */
export type Publish = (events: readonly DairyEvent[]) => Promise<void>;

export interface Producers {
  /** The ids of all that were accepted, by producer. */
  readonly published: Readonly<Record<"erp" | "mobile" | "iot", readonly string[]>>;
  /** Resolves when all have sent what they had to send. */
  run(onOrder: (number: number) => void): Promise<void>;
  /** The order after all those, `turn` by `turn`, with what happens on the farm meanwhile. */
  goOn(turn: number): Promise<void>;
}

export interface ProducersOptions {
  orders: number;
  /** Readings of sensors a second. */
  rate: number;
  publish: Publish;
  /** The ERP's own way, where there is one: the bus. */
  publishOrders: Publish;
}

/** Hardly less than the 100 a minute that partners take. */
const ORDER_EVERY_MS = 650;
const READ_EVERY_MS = 100;

export function createProducers(
  { world }: Story,
  { orders, rate, publish, publishOrders }: ProducersOptions,
): Producers {
  const published = { erp: [] as string[], mobile: [] as string[], iot: [] as string[] };

  async function send(producer: keyof typeof published, by: Publish, events: readonly DairyEvent[]): Promise<void> {
    world.guard();
    await by(events);
    published[producer].push(...events.map((event) => event.event_id));
  }

  async function sell(onOrder: (number: number) => void): Promise<void> {
    for (let number = 1; number <= orders; number++) {
      await send("erp", publishOrders, createOrder(number));
      await send("mobile", publish, [createFarmEvent(number)]);
      onOrder(number);
      await wait(ORDER_EVERY_MS);
    }
  }

  /** As many as the rate wants for the time that the orders take; in small batches, as a gateway of devices sends them. */
  async function measure(): Promise<void> {
    const total = Math.round((rate * orders * ORDER_EVERY_MS) / 1000);
    const perRead = (rate * READ_EVERY_MS) / 1000;
    for (let read = 1; published.iot.length < total; read++) {
      const due = Math.min(total, Math.round(read * perRead)) - published.iot.length;
      const first = published.iot.length;
      if (due > 0)
        await send(
          "iot",
          publish,
          Array.from({ length: due }, (_, at) => createReading(first + at)),
        );
      await wait(READ_EVERY_MS);
    }
  }

  return {
    published,
    async goOn(turn) {
      await send("erp", publishOrders, createOrder(orders + turn));
      await send("mobile", publish, [createFarmEvent(orders + turn)]);
      await send("iot", publish, [createReading(turn), createReading(turn + 1)]);
    },
    run: async (onOrder) => void (await Promise.all([sell(onOrder), measure()])),
  };
}
