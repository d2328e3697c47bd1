import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { TEST_EVENT_TYPE } from "../model/pattern.ts";
import type { Subscription } from "../model/subscription.ts";
import type { IncomingEvent } from "../accept/fan-out.ts";
import { type Accept, toIncomingEvent } from "../accept/ingest.ts";
import type { AttemptRecord, DeliveryKey } from "../store/port/lanes.ts";
import type { StoredDelivery } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";

/**
 * Tests a destination with `test.event`: an event like any other, stored, signed, sent in its lane and
 * recorded, but only for one subscription, also while that is suspended. It is not retried, and a failure counts neither towards suspension nor
 * against the destination, so that testing an unfinished destination does no harm. A success of a destination that was
 * down does count.
 */
export type TestDeliveries = ReturnType<typeof createTestDeliveries>;

export type TestResult =
  | { kind: "attempted"; eventId: string; key: DeliveryKey; attempt: AttemptRecord & { number: number } }
  | { kind: "waiting"; delivery: StoredDelivery };

/** Time for writing to the store, before the attempt and after it. */
const ALLOWANCE_MS = 2000;

export function createTestDeliveries(options: {
  store: Pick<Store, "reads">;
  accept: Accept;
  clock: Clock;
  createId: (prefix: "evt") => string;
}) {
  const { store, accept, clock, createId } = options;
  const waiting = new Map<string, (tested: DeliveryKey) => void>();

  function toTestEvent({ tenantId }: Subscription): IncomingEvent {
    const data = { test: true, timestamp: new Date(clock.wall()).toISOString() };
    const id = createId("evt");
    // Its own key: in an ordered subscription it neither waits for other deliveries nor blocks them.
    const place = { priority: "critical", orderingKey: id } as const;
    return toIncomingEvent({ type: TEST_EVENT_TYPE, tenantId, data }, clock, id, place);
  }

  function publish(event: IncomingEvent, subscription: Subscription): Promise<void> {
    return new Promise((resolve, reject) => {
      accept(event, (result) => (result.kind === "rejected" ? reject(result.error) : resolve()), [subscription]);
    });
  }

  /** Undefined when there was no attempt in time. */
  function waitForAttempt(eventId: string, timeoutMs: number): Promise<DeliveryKey | undefined> {
    return new Promise((resolve) => {
      const end = (tested: DeliveryKey | undefined) => {
        timer.cancel();
        waiting.delete(eventId);
        resolve(tested);
      };
      const timer = clock.setTimer(clock.now() + timeoutMs, () => end(undefined));
      waiting.set(eventId, end);
    });
  }

  async function find(eventId: string, { seq, tenantId }: Subscription): Promise<StoredDelivery> {
    const event = await store.reads.findEvent(eventId, tenantId);
    const delivery = event && (await store.reads.findDelivery({ eventSeq: event.seq, subscriptionSeq: seq }));
    if (delivery === undefined) throw new PosthornError("not_found", `The delivery of ${eventId} no longer exists.`);
    return delivery;
  }

  return {
    /** Resolves when the first attempt is on disk, or when it is clear that there is none for now. */
    async send(subscription: Subscription): Promise<TestResult> {
      const event = toTestEvent(subscription);
      const { id: eventId } = event;
      await publish(event, subscription);
      // In the same turn as the commit: the attempt is recorded in a later one.
      const isPaused = subscription.status === "inactive";
      const key = isPaused ? undefined : await waitForAttempt(eventId, subscription.timeoutMs + ALLOWANCE_MS);
      const [attempt] = key === undefined ? [] : await store.reads.listAttempts(key);
      return key === undefined || attempt === undefined
        ? { kind: "waiting", delivery: await find(eventId, subscription) }
        : { kind: "attempted", eventId, key, attempt };
    },
    /** Called when the attempt of a test is on disk. */
    recordTested(eventId: string, delivery: DeliveryKey): void {
      waiting.get(eventId)?.(delivery);
    },
  };
}
