import type { ParkReason } from "../../src/intake/messages/open-message.ts";
import type { HoldLimits, Taker, TakenMessage } from "../../src/queues/broker.ts";
import type { KindSettings, PulledSourceKind } from "../../src/sources/source-kind.ts";
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
  deliveryCount: number;
  /** By whom it is held, and until when. */
  held: { by: symbol; until: number } | undefined;
}

export interface MemoryBrokerOptions {
  limits: Partial<HoldLimits>;
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
  const queueOf = ({ options }: KindSettings) => getQueue(String(options["queue"]));
  return {
    kind: {
      name: "memory",
      isPulled: true,
      needsSecret: false,
      options: PullOptions,
      openTaker: async (settings) => queueOf(settings).openTaker(),
      depth: async (settings) => queueOf(settings).countReady(),
    },
    queue: getQueue,
  };
}

function createQueue(given: Partial<HoldLimits>, now: () => number) {
  const limits: HoldLimits = { holdMs: Number.POSITIVE_INFINITY, canRenew: true, canDelayRetry: false, ...given };
  const { holdMs, canRenew } = limits;
  let left: Stored[] = [];
  const parked: { body: Buffer; reason: ParkReason }[] = [];
  let arrivals = new AbortController();
  let rests = 0;

  function tell(): void {
    const told = arrivals;
    arrivals = new AbortController();
    told.abort();
  }

  function isFree({ held }: Stored): boolean {
    return held === undefined || held.until <= now();
  }

  function takeFree(max: number): TakenMessage[] {
    return left.filter(isFree).slice(0, max).map(hold);
  }

  function hold(stored: Stored): TakenMessage {
    const { id, body, headers } = stored;
    const { "content-type": contentType, ...properties } = headers;
    const by = Symbol("held");
    stored.held = { by, until: now() + holdMs };

    /** Throws once another may have it. */
    function checkHeld(): void {
      if (!left.includes(stored) || stored.held?.by !== by || isFree(stored)) {
        throw new Error("this message is held by nobody, or by another");
      }
    }

    return {
      id,
      body,
      contentType,
      subject: undefined,
      sessionId: undefined,
      properties,
      deliveryCount: ++stored.deliveryCount,
      async acknowledge() {
        checkHeld();
        left = left.filter((one) => one !== stored);
        return "settled";
      },
      async retry() {
        checkHeld();
        stored.held = undefined;
        tell();
        return "settled";
      },
      async park(code, description) {
        checkHeld();
        if (!queue.canPark) throw new Error("nowhere to park");
        parked.push({ body, reason: { code, description } });
        left = left.filter((one) => one !== stored);
        return "settled";
      },
      renew: canRenew
        ? async () => {
            checkHeld();
            stored.held = { by, until: now() + holdMs };
            return "settled";
          }
        : undefined,
    };
  }

  const taker: Taker = {
    limits,
    async take(max) {
      const restsBefore = rests;
      for (;;) {
        const taken = takeFree(max);
        if (taken.length > 0 || rests > restsBefore) return taken;
        const { signal } = arrivals;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      }
    },
    async rest() {
      rests++;
      tell();
    },
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
    countReady: () => left.filter(isFree).length,
    canPark: true,
    send(body, { id, headers = {} } = {}) {
      left.push({ id, body: Buffer.from(body), headers, deliveryCount: 0, held: undefined });
      tell();
    },
    countLeft: () => left.length,
    countHeld: () => left.filter((stored) => !isFree(stored)).length,
    parked,
    loseTakers,
  } satisfies MemoryQueue & { openTaker(): Taker; countReady(): number };
  return queue;
}
