/** When everything is quiet: whether what was promised is what happened. */
import { LEFT_PER_BODY } from "../../src/deliver/ready-deliveries.ts";
import { formatDeliveryId } from "../../src/model/ids.ts";
import type { Page, PageOf, StoredDelivery, StoredEvent } from "../../src/store/port/reads.ts";
import { checkAccounts, type Arrival, type DeliveryFacts, type EventFacts } from "../support/accounting.ts";
import { hashOf } from "../support/simulated-destination.ts";
import { allowedTries } from "./observer.ts";
import type { World } from "./world.ts";
import { loadBody } from "../support/store-fixtures.ts";

export async function checkWorld(world: World): Promise<void> {
  const { gateway, observer } = world;
  const { store } = gateway;
  const events = await readAll((page) => store.reads.listEvents({}, page));
  const deliveries = await readAll((page) => store.reads.listDeliveries({}, page));
  const facts = await collectFacts(world, events, deliveries);
  const violations = checkAccounts({
    sent: world.senders,
    arrivals: numberAttempts(observer.arrivals, facts),
    events: facts,
    counts: await countTenants(world),
    ordered: new Set([...world.subscriptions.values()].filter(({ ordered }) => ordered).map(({ id }) => id)),
    maxDuplicates: undefined,
  });
  for (const { kind, detail } of violations) observer.violation(`${kind}: ${detail}`);
  if (new Set(events.map(({ id, tenantId }) => `${tenantId} ${id}`)).size < events.length) {
    observer.violation("an id was given to two events");
  }
  for (const delivery of deliveries) checkEnd(world, delivery);
  const imbalance = await store.reads.findImbalance();
  if (imbalance !== 0) observer.violation(`the imbalance is ${imbalance}`);
  checkIdle(world);
}

/** One that was cancelled and replayed while it was being sent has two attempts of the same number. */
function numberAttempts(arrivals: readonly Arrival[], events: readonly EventFacts[]): Arrival[] {
  const replayed = new Set<string>();
  for (const { eventId, deliveries } of events) {
    for (const { subscription, generation } of deliveries) {
      if (generation > 1) replayed.add(`${eventId} ${subscription}`);
    }
  }
  return arrivals.map((arrival, i) =>
    replayed.has(`${arrival.eventId} ${arrival.subscription}`) ? { ...arrival, attempt: -i } : arrival,
  );
}

function checkEnd(world: World, delivery: StoredDelivery): void {
  const { observer } = world;
  const { state, deadReason, eventSeq, subscriptionSeq } = delivery;
  const name = `${eventSeq}/${subscriptionSeq}`;
  const subscription = world.subscriptions.get(delivery.subscriptionId);
  if (state === "pending" || state === "sending") {
    const due = delivery.nextAttemptAt === undefined ? 0 : world.gateway.clock.now() - delivery.nextAttemptAt;
    const place = delivery.waitsForKey ? "behind its key" : `due for ${Math.round(due / 1000)} s`;
    observer.violation(`${name} of ${subscription?.name} is still ${state}, ${place}`);
  }
  if (state === "cancelled" && !world.cancelled.has(`${eventSeq} ${subscriptionSeq}`)) {
    if (!world.deleted.has(delivery.subscriptionId)) observer.violation(`${name} was cancelled by nobody`);
  }
  if (state !== "dead") return;
  if (deadReason === undefined || delivery.lastError === undefined) observer.violation(`${name} is dead for no reason`);
  if (deadReason === "poison" && world.crashes < 5) observer.violation(`${name} is called poison`);
  if (deadReason !== "retries_exhausted" || subscription === undefined) return;
  const tries = observer.triesOf(delivery, delivery.generation);
  // What a crash interrupted is tried once more.
  const more = observer.interruptionsOf(formatDeliveryId(eventSeq, subscriptionSeq));
  if (tries < allowedTries(subscription) || tries > allowedTries(subscription) + more) {
    observer.violation(`${name} gave up after ${tries} tries of ${allowedTries(subscription)}`);
  }
}

/** Nothing is left in memory of what is done. */
function checkIdle({ gateway, observer, scenario }: World): void {
  const { scheduler, subscriptions, clock } = gateway;
  for (const lane of scheduler.lanes()) {
    const { seq, inFlight, unsettled, reserved, claiming, ready } = lane;
    const counts = { inFlight, unsettled, reserved, claiming, ready: ready.length };
    // It will find out that what it waits for was cancelled or has expired.
    const isWaiting = lane.timer !== undefined;
    if (Object.values(counts).some((count) => count !== 0) || !(lane.state.ownTarget.mode.isOpen || isWaiting)) {
      observer.violation(
        `lane ${seq} is not forgotten: ${JSON.stringify({ ...counts, mayHaveMore: lane.mayHaveMore })}`,
      );
    }
  }
  if (scheduler.inFlight !== 0) observer.violation(`${scheduler.inFlight} slots are taken`);
  const remembered = new Set([...scheduler.lanes()].map(({ seq }) => seq));
  const [subscription] = subscriptions
    .list(undefined)
    .filter(({ seq }) => !remembered.has(seq) && scheduler.findMode(seq)?.isOpen !== true);
  if (subscription?.status !== "active") return;
  // Only when no body is in memory does one of this size find room.
  if (scheduler.reserve(subscription, clock.now(), scenario.maxBodyBytes / LEFT_PER_BODY))
    scheduler.unreserve(subscription);
  else observer.violation("bodies are counted that are not there");
}

async function collectFacts(
  { gateway, observer, madeByReplay }: World,
  events: readonly StoredEvent[],
  deliveries: readonly StoredDelivery[],
): Promise<EventFacts[]> {
  const byEvent = new Map<number, DeliveryFacts[]>();
  for (const { eventSeq, subscriptionSeq, subscriptionId, state, generation } of deliveries) {
    const interruptions = observer.interruptionsOf(formatDeliveryId(eventSeq, subscriptionSeq));
    // Made by hand, long after those that came later: it has no place in the order.
    const isLate = madeByReplay.has(`${eventSeq} ${subscriptionSeq}`);
    const facts = { subscription: subscriptionId, state, generation: generation + (isLate ? 1 : 0), interruptions };
    const known = byEvent.get(eventSeq);
    if (known === undefined) byEvent.set(eventSeq, [facts]);
    else known.push(facts);
  }
  const facts: EventFacts[] = [];
  for (const { seq, id, tenantId } of events) {
    const body = (await loadBody(gateway.store, seq)) ?? new Uint8Array(0);
    facts.push({ eventId: id, seq, tenantId, hash: hashOf(body), deliveries: byEvent.get(seq) ?? [] });
  }
  return facts;
}

async function countTenants({ gateway }: World) {
  const { events, deliveries } = await gateway.store.reads.loadCounters();
  return events.map(({ tenantId, accepted }) => {
    const own = deliveries.filter((counters) => counters.tenantId === tenantId);
    const sum = (name: "created" | "delivered" | "dead" | "cancelled") =>
      own.reduce((total, counters) => total + counters[name], 0);
    return {
      tenantId,
      accepted,
      created: sum("created"),
      delivered: sum("delivered"),
      dead: sum("dead"),
      cancelled: sum("cancelled"),
    };
  });
}

async function readAll<Row>(read: (page: Page) => Promise<PageOf<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await read({ limit: 500, cursor });
    rows.push(...page.rows);
    if (page.nextCursor === undefined) return rows;
    cursor = page.nextCursor;
  }
}
