import { BrokerFault } from "../queues/broker-fault.ts";
import type { QueueTaker, Settled, TakenMessage } from "../queues/broker.ts";
import { isFieldName, isFieldValue } from "../model/header-block.ts";
import type { PulledMessage, Taker } from "./source-kind.ts";

export interface AdaptedTakerOptions {
  taker: QueueTaker;
  /** How long one call waits for messages before it is repeated. */
  waitMs: number;
  depth(): Promise<number>;
  placesOf(message: TakenMessage): readonly string[];
}

/** Limits for hostile messages: further headers are left out. */
const MAX_PROPERTIES = 200;
const MAX_PROPERTY_LENGTH = 16_384;

/** Adapts a broker's consumer to a source. */
export function adaptTaker({ taker, waitMs, depth, placesOf }: AdaptedTakerOptions): Taker {
  const taken = new WeakMap<PulledMessage, TakenMessage>();
  /** The pending call. If nobody waits for it any more, it continues, and its messages are returned to the queue. */
  let call: Promise<TakenMessage[]> | undefined;
  /** What an abandoned call has brought, on its way back. */
  let returning: Promise<unknown> = Promise.resolve();

  function takeOnce(max: number): Promise<TakenMessage[]> {
    call ??= taker.take(max, waitMs).finally(() => (call = undefined));
    return call;
  }

  function toPulled(message: TakenMessage): PulledMessage {
    const pulled: PulledMessage = {
      id: message.id === "" ? undefined : message.id,
      body: message.body,
      headers: toHeaders(message),
      deliveryCount: message.deliveryCount,
      pulledFrom: placesOf(message),
    };
    taken.set(pulled, message);
    return pulled;
  }

  function originalOf(message: PulledMessage): TakenMessage {
    const found = taken.get(message);
    if (found === undefined) throw new Error("a message was settled by another consumer than the one that received it");
    return found;
  }

  return {
    async take(max, signal) {
      while (!signal.aborted) {
        const waiting = takeOnce(max);
        const over = new AbortController();
        const messages = await Promise.race([waiting, whenAborted(signal, over.signal)]).finally(() => over.abort());
        if (messages === undefined) {
          // Nobody waits for these messages any more.
          waiting.then(
            (late) => (returning = giveBack(late)),
            () => undefined,
          );
          await taker.rest();
          return [];
        }
        if (messages.length > 0) return messages.map(toPulled);
      }
      return [];
    },
    rest: () => taker.rest(),
    acknowledge: async (message) => orLost(await originalOf(message).acknowledge()),
    retry: async (message, delayMs) => void (await originalOf(message).retry(delayMs)),
    park: async (message, { code, description }) => orLost(await originalOf(message).park(code, description)),
    async renew(message) {
      const { renew } = originalOf(message);
      orLost(renew === undefined ? "lost" : await renew());
    },
    depth: () => depth(),
    async close() {
      await taker.close();
      // What came meanwhile is known after this turn. Left alone, it would stay hidden from others for a while.
      await new Promise(setImmediate);
      await returning;
    },
  };
}

async function giveBack(messages: readonly TakenMessage[]): Promise<void> {
  await Promise.all(messages.map((message) => message.retry().catch(() => undefined)));
}

function whenAborted(signal: AbortSignal, unneeded: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true, signal: unneeded });
  });
}

function orLost(settled: Settled): void {
  if (settled === "settled") return;
  throw new BrokerFault("lost", "The message was held for too long, or its connection was lost. It comes again.");
}

/** The message's properties and the broker's own facts as headers, if they can be written as headers. */
function toHeaders({ properties, contentType, subject, sessionId }: TakenMessage): Readonly<Record<string, string>> {
  const own = { "content-type": contentType, subject, "session-id": sessionId };
  const entries = [...Object.entries(properties).slice(0, MAX_PROPERTIES), ...Object.entries(own)];
  const headers = entries.flatMap(([name, value]): [string, string][] => {
    const text = value === undefined ? "" : String(value);
    const isSayable = text !== "" && text.length <= MAX_PROPERTY_LENGTH && isFieldName(name) && isFieldValue(text);
    return isSayable ? [[name.toLowerCase(), text]] : [];
  });
  return Object.fromEntries(headers);
}
