import type {
  KindSettings,
  ParkReason,
  PulledMessage,
  PulledSourceKind,
  PullLimits,
  Taker,
} from "../../src/sources/source-kind.ts";
import { PullOptions } from "../../src/sources/pull-options.ts";

/** A broker in memory whose messages come again unless they are settled, with one queue by each name. */
export interface MemoryBroker {
  readonly kind: PulledSourceKind;
  /** Made when it is first asked for. */
  queue(name: string): MemoryQueue;
}

export interface MemoryQueue {
  send(body: string | Buffer, message?: { id?: string | undefined; headers?: Record<string, string> }): void;
  /** Those that would come, or come again. */
  countLeft(): number;
  countHeld(): number;
  readonly parked: readonly { body: Buffer; reason: ParkReason }[];
  /** Whether messages can be parked. */
  canPark: boolean;
  /** Those who hold messages have died: what they hold comes again. */
  loseTakers(): void;
}

interface Stored {
  readonly id: string | undefined;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly enqueuedAt: number;
  deliveryCount: number;
  /** By whom it is held, and until when. */
  held: { by: PulledMessage; until: number } | undefined;
}

export interface MemoryBrokerOptions {
  limits: PullLimits;
  /** Of the gateway that takes: holds run out by it. */
  now: () => number;
}

export function createMemoryBroker({ limits, now }: MemoryBrokerOptions): MemoryBroker {
  const queues = new Map<string, ReturnType<typeof createQueue>>();
  function getQueue(name: string) {
    const queue = queues.get(name) ?? createQueue(limits, now);
    queues.set(name, queue);
    return queue;
  }
  const open = async ({ options }: KindSettings) => getQueue(String(options["queue"])).openTaker();
  return {
    kind: { name: "memory", needsSecret: false, options: PullOptions, pull: { limits, open } },
    queue: getQueue,
  };
}

function createQueue({ holdMs = Number.POSITIVE_INFINITY }: PullLimits, now: () => number) {
  let left: Stored[] = [];
  const parked: { body: Buffer; reason: ParkReason }[] = [];
  let arrivals = new AbortController();

  function tell(): void {
    const told = arrivals;
    arrivals = new AbortController();
    told.abort();
  }

  function isFree({ held }: Stored): boolean {
    return held === undefined || held.until <= now();
  }

  function takeFree(max: number): PulledMessage[] {
    return left
      .filter(isFree)
      .slice(0, max)
      .map((stored) => {
        const { id, body, headers, enqueuedAt } = stored;
        const message = { id, body, headers, enqueuedAt, deliveryCount: ++stored.deliveryCount };
        stored.held = { by: message, until: now() + holdMs };
        return message;
      });
  }

  /** Rejects once another may have it. */
  async function getHeld(message: PulledMessage): Promise<Stored> {
    const stored = left.find(({ held }) => held?.by === message);
    if (stored === undefined || isFree(stored)) throw new Error("this message is held by nobody, or by another");
    return stored;
  }

  const taker: Taker = {
    async take(max, signal) {
      for (;;) {
        const taken = takeFree(max);
        if (taken.length > 0 || signal.aborted) return taken;
        const { signal: arrival } = arrivals;
        await new Promise<void>((resolve) => {
          for (const one of [signal, arrival]) one.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    },
    rest: async () => undefined,
    async acknowledge(message) {
      const settled = await getHeld(message);
      left = left.filter((one) => one !== settled);
    },
    async retry(message) {
      (await getHeld(message)).held = undefined;
      tell();
    },
    async park(message, reason) {
      const settled = await getHeld(message);
      if (!queue.canPark) throw new Error("nowhere to park");
      parked.push({ body: settled.body, reason });
      left = left.filter((one) => one !== settled);
    },
    async renew(message) {
      const stored = await getHeld(message);
      stored.held = { by: message, until: now() + holdMs };
    },
    depth: async () => left.filter(isFree).length,
    async close() {
      loseTakers();
    },
  };

  function loseTakers(): void {
    for (const stored of left) stored.held = undefined;
    tell();
  }

  const queue = {
    openTaker: () => taker,
    canPark: true,
    send(body, { id, headers = {} } = {}) {
      const enqueuedAt = now();
      left.push({ id, body: Buffer.from(body), headers, enqueuedAt, deliveryCount: 0, held: undefined });
      tell();
    },
    countLeft: () => left.length,
    countHeld: () => left.filter((stored) => !isFree(stored)).length,
    parked,
    loseTakers,
  } satisfies MemoryQueue & { openTaker(): Taker };
  return queue;
}
