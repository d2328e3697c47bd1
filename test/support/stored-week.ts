import { createIdSource } from "../../src/model/ids.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { createAttemptCollector } from "../../src/jobs/statistics.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { databaseOf } from "./gateway-process.ts";
import { accept, newAttempt, newDeath, newDelivery, newEvent, newSettlement, settle } from "./store-fixtures.ts";

/**
 * Events of the last seven days in the folder of a gateway that is stopped, with their deliveries, attempts and
 * statistics, as if it had received and sent them; without waiting for the disk.
 */
export interface StoredWeek {
  count: number;
  /** The subscriptions by their ids, each with what goes to it. */
  lanes: readonly WeekLane[];
}

export interface WeekLane {
  id: string;
  tenantId: string;
  wants: (event: WeekEvent) => boolean;
  /** What becomes of the deliveries; all are delivered when not given. */
  endOf?: (event: WeekEvent) => "delivered" | "dead" | "open";
}

export interface WeekEvent {
  number: number;
  type: string;
  source: string;
  tenantId: string;
}

export const WEEK_TYPES = ["order.created", "order.paid", "order.shipped", "invoice.sent", "user.signed_up"] as const;
export const WEEK_TENANTS = ["default", "acme", "globex"] as const;
export const WEEK_SOURCES = ["shop", "crm", "billing", "warehouse"] as const;
/** Ten events of the week have this type, and this member of their payload; the latest is a tenth of the week old. */
export const RARE = { count: 10, type: "coupon.golden", coupon: "GOLDEN-TICKET" } as const;

const WEEK_MS = 7 * 86_400_000;
const BATCH = 2_000;
const DEAD_ENDS = [
  { deadReason: "refused", code: 400, error: "400 Bad Request" },
  { deadReason: "retries_exhausted", code: 503, error: "503 Service Unavailable" },
  { deadReason: "gone", code: 410, error: "410 Gone" },
] as const;

export async function storeWeek(folder: string, week: StoredWeek): Promise<void> {
  const store = await openSqliteStore({
    file: databaseOf(folder),
    synchronous: "OFF",
    dedupeHorizonMs: WEEK_MS,
    onFatal(error) {
      throw error;
    },
  });
  try {
    const lanes = await findLanes(store, week.lanes);
    const until = Date.now();
    const timeOf = (number: number) => Math.floor(until - WEEK_MS + (number / week.count) * WEEK_MS);
    for (let done = 0; done < week.count; done += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, week.count - done) }, (_, n) => done + n);
      const events = numbers.map((number) => ({ ...describeEvent(number, week.count), receivedAt: timeOf(number) }));
      await storeBatch(store, lanes, events);
    }
  } finally {
    await store.close();
  }
}

type FoundLane = WeekLane & { seq: number };

async function findLanes(store: Store, lanes: readonly WeekLane[]): Promise<FoundLane[]> {
  const { records } = await store.records.load(["subscription"]);
  return lanes.map((lane) => {
    const seq = records.find(({ id }) => id === lane.id)?.seq;
    if (seq === undefined) throw new Error(`there is no subscription ${lane.id} in this folder`);
    return { ...lane, seq };
  });
}

async function storeBatch(
  store: Store,
  lanes: readonly FoundLane[],
  events: readonly (WeekEvent & { receivedAt: number })[],
): Promise<void> {
  const collector = createAttemptCollector();
  const stored = events.map((event) => {
    const { number, receivedAt } = event;
    collector.recordEvent(receivedAt);
    const wanting = lanes.filter((lane) => lane.tenantId === event.tenantId && lane.wants(event));
    const ends = wanting.map((lane) => ({ seq: lane.seq, end: lane.endOf?.(event) ?? "delivered" }));
    const deliveries = ends.map(({ seq, end }) => newDelivery(seq, { claim: end !== "open" }));
    return { number, receivedAt, ends, written: accept(store, toNewEvent(event, receivedAt), deliveries) };
  });
  const settling = stored.map(async ({ number, receivedAt, ends, written }) => {
    const result = await written;
    if (result.kind !== "stored") throw new Error(`event ${number} was not stored but ${result.kind}`);
    const ended = ends.filter(({ end }) => end !== "open");
    for (const { seq, end } of ended) collector.record(seq, durationOf(number, seq), end === "delivered", receivedAt);
    await Promise.all(
      ended.map(({ seq, end }) => settle(store, toSettlement(result.eventSeq, seq, end, number, receivedAt))),
    );
  });
  await Promise.all(settling);
  await store.jobs.addAttemptStats(collector.take());
}

function toSettlement(eventSeq: number, subscriptionSeq: number, end: string, number: number, receivedAt: number) {
  const of = { eventSeq, subscriptionSeq };
  const attempt = newAttempt(
    { startedAt: receivedAt + 3, durationMs: durationOf(number, subscriptionSeq) },
    { place: "http://127.0.0.1:9/hooks", answer: Buffer.from("ok") },
  );
  if (end === "delivered") return newSettlement(of, { attempt });
  const { deadReason, code, error } = pick(DEAD_ENDS, number);
  return newDeath(of, {
    deadReason,
    attempt: { ...attempt, result: "failed", error, record: { ...attempt.record, code } },
  });
}

function durationOf(number: number, subscriptionSeq: number): number {
  return 5 + (mix(number + subscriptionSeq) % 90);
}

function describeEvent(number: number, count: number): WeekEvent {
  const mixed = mix(number);
  const isRare = number % Math.floor(count / RARE.count) === 0;
  return {
    number,
    type: isRare ? RARE.type : pick(WEEK_TYPES, mixed),
    source: pick(WEEK_SOURCES, mixed >>> 4),
    tenantId: pick(WEEK_TENANTS, mixed >>> 8),
  };
}

const createId = createIdSource({ wall: Date.now }, createSeededRandom(7));
const REQUEST = JSON.stringify({
  method: "POST",
  path: "/webhook/shop",
  query: "",
  remote_address: "127.0.0.1",
  headers: { host: "127.0.0.1:8080", "content-type": "application/json", "user-agent": "Shop/7.1" },
});

function toNewEvent({ number, type, source, tenantId }: WeekEvent, receivedAt: number) {
  return newEvent({
    id: createId("evt"),
    type,
    source,
    tenantId,
    receivedAt,
    request: REQUEST,
    orderingKey: number % 2 === 0 ? `customer-${mix(number) % 50_000}` : undefined,
    details: number % 4 === 0 ? JSON.stringify({ metadata: { region: number % 8 === 0 ? "eu" : "us" } }) : undefined,
    body: Buffer.from(JSON.stringify(payloadOf(number, type))),
  });
}

/** About 600 bytes, as shops send them. */
function payloadOf(number: number, type: string): object {
  const items = Array.from({ length: 4 }, (_, n) => ({
    sku: `SKU-${mix(number * 7 + n) % 10_000}`,
    name: "A thing that somebody wanted to have",
    quantity: 1 + n,
    price: (mix(number + n) % 10_000) / 100,
  }));
  const customer = { id: mix(number) % 50_000, email: `customer${mix(number) % 50_000}@example.com`, country: "DE" };
  return {
    order: { id: number, total: mix(number) % 1_000, currency: "EUR", customer, items },
    ...(type === RARE.type && { coupon: RARE.coupon }),
  };
}

/** The same for the same number, and without an order that a search could profit from. */
function mix(number: number): number {
  const mixed = Math.imul(number ^ (number >>> 15), 2_654_435_761);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

function pick<Item>(items: readonly Item[], by: number): Item {
  return items[by % items.length] as Item;
}
