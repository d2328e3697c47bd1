/** A log to search in, kept in memory too, where a search is a plain loop. */
import type { EventStatus } from "../../../../src/model/delivery.ts";
import { publishKey } from "../../../../src/model/ids.ts";
import { MAX_SEARCHED_BODY_BYTES } from "../../../../src/model/event-search.ts";
import { matchesPattern, parsePattern } from "../../../../src/model/pattern.ts";
import type { NewDelivery, NewEvent } from "../../../../src/store/port/event-log.ts";
import type { EventFilter } from "../../../../src/store/port/reads.ts";
import type { Store } from "../../../../src/store/store.ts";
import { createChance, type Chance } from "../../../support/chance.ts";
import {
  newDeath,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  NOON,
  settle,
} from "../../../support/store-fixtures.ts";
import { stored } from "../../../support/store-fixtures.ts";

export interface LoggedEvent {
  seq: number;
  event: NewEvent;
  status: EventStatus;
  isUnmatched: boolean;
  metadata: Record<string, unknown>;
}

export const TYPES = ["order.created", "order.paid", "order.item.added", "invoice.sent", "webhook.shop", "test.event"];
export const SOURCES = ["shop", "billing", "api", "Shop"];
export const TENANTS = ["default", "acme", "umbrella"];
export const TEXTS = ["needle", "Größe", '"n":7', "NEEDLE", "nowhere"];
const ENDS = ["delivered", "dead", "retry", "dead and open", "waiting", "sending"] as const;

/** Long enough for several blocks of whatever a driver keeps together. */
export async function fillLog(store: Store, lanes: readonly number[], from: number, to: number) {
  const chance = createChance(from);
  const log: LoggedEvent[] = [];
  for (let at = from; at < to; at += 250) {
    const made = Array.from({ length: Math.min(250, to - at) }, (_, i) => makeEvent(chance, at + i));
    log.push(...(await Promise.all(made.map((one) => storeOne(store, one, lanes, chance)))));
  }
  return log;
}

function makeEvent(chance: Chance, number: number): Pick<LoggedEvent, "event" | "metadata"> {
  const hasId = chance.isTrue(0.3);
  const id = `${chance.pick(["order", "a-rather-long-beginning"])}-${number}`;
  const metadata = makeMetadata(chance, number);
  const members = [`"user_id":"u${chance.whole(1, 5)}"`];
  if (Object.keys(metadata).length > 0) members.push(`"metadata":${JSON.stringify(metadata)}`);
  // Some few stand out: they lie in one place of the log only.
  const isRare = number % 1777 === 1000;
  const hasDetails = chance.isTrue(0.5) || number % 900 === 1;
  const event = newEvent({
    ...(hasId && { id, givenId: true, dedupeKey: publishKey(id) }),
    type: isRare ? "rare.bird.seen" : chance.pick(TYPES),
    source: isRare ? "zoo" : chance.pick(SOURCES),
    tenantId: isRare ? "rarity" : chance.pick(TENANTS),
    // Nearly in order, as it is when many come at once; the clock was put back once.
    receivedAt: NOON + number * 10 + chance.whole(0, 30) - (number > 2000 ? 5000 : 0),
    orderingKey: chance.isTrue(0.5) ? `key-${chance.whole(1, 400)}` : undefined,
    details: hasDetails ? `{${members.join(",")}}` : undefined,
    body: makeBody(chance, number),
    fanOutCursor: chance.isTrue(0.01) ? 1 : undefined,
  });
  return { event, metadata: event.details === undefined ? {} : metadata };
}

function makeMetadata(chance: Chance, number: number): Record<string, unknown> {
  const hasMany = number % 900 === 1;
  if (!hasMany && chance.isTrue(0.5)) return {};
  const more = hasMany ? Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`m${i}`, i])) : {};
  return { team: chance.pick(["blue", "red"]), n: chance.whole(1, 300), deep: { team: "green" }, ...more };
}

function makeBody(chance: Chance, number: number): Uint8Array {
  if (number % 1500 === 7) return Buffer.alloc(MAX_SEARCHED_BODY_BYTES + 1, "needle ");
  const filler = "x".repeat(chance.isTrue(0.01) ? 40_000 : chance.whole(0, 300));
  const word = chance.isTrue(0.1) ? chance.pick(["a Needle in it", "größe", "GRÖSSE", "nEEdle"]) : "";
  if (chance.isTrue(0.05)) return Buffer.concat([Buffer.from([0, 255, 254]), Buffer.from(word), Buffer.from(filler)]);
  return Buffer.from(JSON.stringify({ filler, n: chance.whole(1, 20), word }));
}

async function storeOne(
  store: Store,
  { event, metadata }: Pick<LoggedEvent, "event" | "metadata">,
  [lane = 0, other = 0]: readonly number[],
  chance: Chance,
): Promise<LoggedEvent> {
  const isUnmatched = chance.isTrue(0.1);
  const end = isUnmatched ? "delivered" : chance.pick(chance.isTrue(0.8) ? ["delivered"] : ENDS);
  const deliveries: NewDelivery[] = [];
  if (!isUnmatched) deliveries.push(newDelivery(lane, { claim: end !== "waiting" }));
  if (end === "dead and open") deliveries.push(newDelivery(other));
  const seq = await stored(store, event, deliveries);
  const sent = { eventSeq: seq, subscriptionSeq: lane };
  if (!isUnmatched && end === "delivered") await settle(store, newSettlement(sent));
  if (end === "dead" || end === "dead and open") await settle(store, newDeath(sent));
  if (end === "retry") await settle(store, newRetry(sent, NOON + 60_000));
  const isOpen = event.fanOutCursor !== undefined || !["delivered", "dead"].includes(end);
  return { seq, event, metadata, isUnmatched, status: isOpen ? "PENDING" : end === "dead" ? "FAILED" : "COMPLETED" };
}

/** What a search must find, newest first. */
export function searchPlainly(log: readonly LoggedEvent[], filter: EventFilter): number[] {
  return log
    .filter((one) => fits(one, filter))
    .map(({ seq }) => seq)
    .sort((a, b) => b - a);
}

function fits({ event, status, isUnmatched, metadata }: LoggedEvent, filter: EventFilter): boolean {
  const text = filter.text?.toLowerCase();
  return (
    (filter.tenantId ?? event.tenantId) === event.tenantId &&
    (filter.type ?? event.type) === event.type &&
    (filter.source ?? event.source) === event.source &&
    (filter.id ?? event.id) === event.id &&
    (filter.orderingKey ?? event.orderingKey) === event.orderingKey &&
    (filter.status ?? status) === status &&
    (filter.unmatched ?? isUnmatched) === isUnmatched &&
    event.id.startsWith(filter.idPrefix ?? "") &&
    event.receivedAt >= (filter.since ?? 0) &&
    event.receivedAt < (filter.until ?? Number.POSITIVE_INFINITY) &&
    (filter.typePattern === undefined || matchesPattern(parsePattern(filter.typePattern), event.type)) &&
    (filter.labels ?? []).every(({ name, value }) =>
      value === undefined ? name in metadata : typeof metadata[name] !== "object" && String(metadata[name]) === value,
    ) &&
    (text === undefined ||
      (event.body.length <= MAX_SEARCHED_BODY_BYTES && Buffer.from(event.body).toString().toLowerCase().includes(text)))
  );
}
