/** A gateway in virtual time with many tenants and destinations, which tells how long each delivery took. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Slots } from "../../src/deliver/slots.ts";
import { ONE_BY_ONE, type Attempt, type Sender } from "../../src/destinations/sender.ts";
import { DELIVERED, type Outcome } from "../../src/model/outcome.ts";
import type { Subscription, SubscriptionInput } from "../../src/model/subscription.ts";
import type { IncomingEvent } from "../../src/accept/fan-out.ts";
import { createChance, type Chance } from "../support/chance.ts";
import { answered, recordOf, timedOut } from "../support/http-outcomes.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { openSimulatedGateway, type SimulatedGateway } from "../support/simulated-gateway.ts";
import { NOON } from "../support/store-fixtures.ts";
import { createVirtualTime, type VirtualTime } from "../support/virtual-clock.ts";
import { settleCalls } from "../support/watched-store.ts";

export interface Answer {
  afterMs: number;
  outcome: Outcome;
}

export interface PlannedSubscription extends Partial<SubscriptionInput> {
  name: string;
  tenant: string;
  answer: (attempt: Attempt, chance: Chance) => Answer;
}

export interface FairWorldOptions {
  maxInFlight: number;
  subscriptions: readonly PlannedSubscription[];
  /** For a negative control: who gets a free slot by other rules. */
  slots?: Slots | undefined;
}

/** What became of one event for one subscription. */
export interface Ending {
  subscription: string;
  tenant: string;
  type: string;
  verdict: "delivered" | "dead";
  deadReason: string | undefined;
  at: number;
  /** From the hand of the publisher to the answer of the destination. */
  dwellMs: number;
}

export interface FairWorld {
  readonly time: VirtualTime;
  readonly gateway: SimulatedGateway;
  readonly endings: readonly Ending[];
  readonly maxSeenInFlight: number;
  /** One now. */
  publish(tenant: string, type: string, change?: Partial<IncomingEvent>): void;
  /** At a steady rate with some jitter, from now on. */
  publishSteadily(tenant: string, type: string, load: { perS: number; forMs: number }): void;
  run(forMs: number, isOver?: () => boolean): Promise<void>;
  close(): Promise<void>;
}

const COMMIT_MS = 2;

export async function openFairWorld(options: FairWorldOptions): Promise<FairWorld> {
  const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-fairness-"));
  const time = createVirtualTime(NOON);
  const chance = createChance(7);
  const answers = chance.fork();
  const calls = { made: 0, open: 0 };
  const planned = new Map(options.subscriptions.map((one) => [one.name, one]));
  const publishedAt = new Map<string, number>();
  const endings: Ending[] = [];
  let published = 0;
  let inFlight = 0;
  let maxSeenInFlight = 0;

  const sender: Sender = {
    limitsOf: () => ONE_BY_ONE,
    send([attempt], done) {
      if (attempt === undefined) return;
      const { subscription } = attempt;
      const startedAt = time.wall();
      const answer = planned.get(subscription.name)?.answer(attempt, answers) as Answer;
      maxSeenInFlight = Math.max(maxSeenInFlight, ++inFlight);
      time.after(answer.afterMs, () => {
        inFlight--;
        const { outcome, afterMs: durationMs } = answer;
        done([{ outcome, startedAt, durationMs, record: recordOf(subscription) }]);
      });
    },
    close: () => Promise.resolve(),
  };

  const gateway = await pump(
    openSimulatedGateway({
      folder,
      time,
      chance,
      calls,
      createSender: () => sender,
      maxInFlight: options.maxInFlight,
      maxBodyBytes: 64 * 1024 * 1024,
      maxRows: 5000,
      commitMs: COMMIT_MS,
      onFault(error) {
        throw error;
      },
      onAttempt(subscription, { event }, _, settlement) {
        const { verdict, deadReason } = settlement;
        if (verdict === "retry") return;
        const { name, tenantId: tenant } = subscription;
        const dwellMs = time.elapsedMs - (publishedAt.get(event.id) ?? Number.NaN);
        endings.push({
          subscription: name,
          tenant,
          type: event.type,
          verdict,
          deadReason,
          at: time.elapsedMs,
          dwellMs,
        });
      },
      broken: options.slots === undefined ? undefined : { slots: options.slots },
    }),
  );
  for (const { name, tenant, answer: _, ...input } of options.subscriptions) {
    await pump(
      gateway.subscriptions.create({
        events: ["#"],
        ...input,
        name,
        tenant_id: tenant,
        url: `https://${name}.example.com/hook`,
      }),
    );
  }

  async function pump<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = work.finally(() => (isDone = true));
    done.catch(() => undefined);
    for (;;) {
      await settleCalls(() => calls);
      if (isDone || time.nextAt() === undefined) return done;
      time.step();
    }
  }

  function publish(tenant: string, type: string, change: Partial<IncomingEvent> = {}): void {
    const id = `evt-${++published}`;
    publishedAt.set(id, time.elapsedMs);
    const wall = time.wall();
    const event: IncomingEvent = {
      id,
      givenId: false,
      type,
      version: "1.0",
      source: "shop",
      tenantId: tenant,
      priority: "normal",
      origin: "webhook",
      occurredAt: wall,
      receivedAt: wall,
      expiresAt: undefined,
      orderingKey: undefined,
      dedupeKey: undefined,
      contentType: "application/json",
      request: undefined,
      details: undefined,
      body: BODY,
      dueAt: gateway.clock.now(),
      fanOutCursor: undefined,
      ...change,
    };
    gateway.accept(event, (result) => {
      if (result.kind !== "stored") throw new Error(`an event was ${result.kind}`);
    });
  }

  return {
    time,
    gateway,
    endings,
    get maxSeenInFlight() {
      return maxSeenInFlight;
    },
    publish,
    publishSteadily(tenant, type, { perS, forMs }) {
      const pace = chance.fork();
      const end = time.elapsedMs + forMs;
      const next = (at: number) => {
        if (at >= end) return;
        time.after(at - time.elapsedMs, () => {
          publish(tenant, type);
          next(at + (pace.between(0.5, 1.5) * 1000) / perS);
        });
      };
      next(time.elapsedMs + (pace.between(0, 1) * 1000) / perS);
    },
    async run(forMs, isOver = () => false) {
      const end = time.elapsedMs + forMs;
      for (let at = time.nextAt(); at !== undefined && at <= end && !isOver(); at = time.nextAt()) {
        const { made } = calls;
        time.step();
        if (calls.made !== made) await settleCalls(() => calls);
      }
      if (!isOver()) time.moveTo(end);
    },
    async close() {
      await gateway.kill();
      rmSync(folder, { recursive: true });
    },
  };
}

const BODY = Buffer.from('{"n":1}');

export function ok(): Outcome {
  return DELIVERED;
}

export function refused(status: number): Outcome {
  return answered(status);
}

/** A destination as most are. */
export function prompt(_: Attempt, chance: Chance): Answer {
  return { afterMs: chance.between(10, 30), outcome: ok() };
}

export function hanging({ subscription }: Attempt): Answer {
  return { afterMs: timeoutOf(subscription), outcome: timedOut() };
}

const timeoutOf = ({ timeoutMs }: Subscription) => timeoutMs;

export function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.POSITIVE_INFINITY;
}

/** 1 when all have the same, 1/n when one has all (Jain, Chiu and Hawe 1984). */
export function jainIndex(shares: readonly number[]): number {
  const sum = shares.reduce((a, b) => a + b, 0);
  return sum ** 2 / (shares.length * shares.reduce((a, b) => a + b ** 2, 0));
}
