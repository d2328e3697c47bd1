import type { Published } from "../generated/shapes.ts";
import type { RequestOptions } from "./options.ts";
import {
  type BatchLimits,
  countFitting,
  type EventInput,
  type Publishing,
  readBatchLimits,
  writeEvent,
  type WrittenEvent,
} from "./publish.ts";

export interface PublisherOptions extends Partial<BatchLimits>, Pick<RequestOptions, "timeoutMs" | "retries"> {
  /** How long an event waits for others to go with it: 10. */
  lingerMs?: number | undefined;
}

/** Publishes many events in few requests, in the order in which they were given. */
export interface Publisher {
  /** Resolves when the event is on the gateway's disk; rejects when it was rejected, alone or with its request. */
  publish(event: EventInput): Promise<Published>;
  /** Sends what waits now, and resolves when nothing waits any more. Never rejects: each event has a promise of its own. */
  flush(): Promise<void>;
  /** The same, and takes no more events. */
  close(): Promise<void>;
}

interface Waiting extends WrittenEvent {
  resolve(published: Published): void;
  reject(error: unknown): void;
}

const DEFAULT_LINGER_MS = 10;

export function createPublisher(publishing: Publishing, options: PublisherOptions = {}): Publisher {
  const { lingerMs = DEFAULT_LINGER_MS, timeoutMs, retries } = options;
  const limits = readBatchLimits(options);
  let waiting: Waiting[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> | undefined;
  let isClosed = false;

  async function sendBatch(events: readonly Waiting[]): Promise<void> {
    try {
      const results = await publishing.batch(events, { timeoutMs, retries });
      events.forEach((event, index) => {
        const result = results[index];
        if (result === undefined) event.reject(new Error("The gateway's answer says nothing of this event."));
        else if (result instanceof Error) event.reject(result);
        else event.resolve(result);
      });
    } catch (error) {
      for (const event of events) event.reject(error);
    }
  }

  /** One request at a time: what comes later must not overtake. */
  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const count = countFitting(waiting, limits);
      const batch = waiting.slice(0, count);
      waiting = waiting.slice(count);
      await sendBatch(batch);
    }
    sending = undefined;
  }

  function send(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return sending ?? Promise.resolve();
    return (sending ??= sendAll());
  }

  const isFull = () => countFitting(waiting, limits) < waiting.length || waiting.length >= limits.maxItems;

  async function close(): Promise<void> {
    isClosed = true;
    await send();
  }

  return {
    async publish(event) {
      if (isClosed) throw new Error("The publisher is closed.");
      // Written now: what becomes of the object later changes nothing.
      const written = writeEvent(event);
      const published = new Promise<Published>((resolve, reject) => waiting.push({ ...written, resolve, reject }));
      if (isFull()) void send();
      else if (sending === undefined) timer ??= setTimeout(() => void send(), lingerMs);
      return published;
    },
    flush: send,
    close,
  };
}
