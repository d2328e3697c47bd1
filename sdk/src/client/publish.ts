import type { Problem, PublishInput, Published } from "../generated/shapes.ts";
import { isProblem, PosthornApiError, type PosthornConnectionError } from "./api-error.ts";
import { parseAnswer } from "./call.ts";
import { type RawJson, writeJson } from "./json.ts";
import type { RequestOptions } from "./options.ts";
import { createRandomId } from "../bytes.ts";
import { delayBefore, isWorthRetrying } from "./retry.ts";
import type { Transport } from "./transport.ts";
import { wait } from "./wait.ts";

/** An event to publish. Bigints in it are written with all their digits; JSON that you have already is `rawJson(…)`. */
export interface EventInput extends Omit<PublishInput, "payload" | "metadata"> {
  payload: object | RawJson;
  metadata?: object | RawJson | null | undefined;
}

/** Of each event of several: what became of it, or why it was rejected. */
export type PublishResult = Published | PosthornApiError | PosthornConnectionError;

/** An event as it goes out. It has an id, so it can be sent again without being published twice. */
export interface WrittenEvent {
  text: string;
  bytes: number;
}

const EVENTS = "/api/v1/events";
const MAX_ITEMS = 1000;
const MAX_BYTES = 16 * 1024 * 1024;
/** What stands around the events of an array, and between two of them. */
const AROUND_BYTES = 2;
const BETWEEN_BYTES = 1;

const encoder = new TextEncoder();

export function writeEvent(event: EventInput): WrittenEvent {
  const text = writeJson({ ...event, event_id: event.event_id ?? createRandomId() });
  return { text, bytes: encoder.encode(text).length };
}

/** How much fits into one request; what is set may be less than what the gateway takes, never more. */
export interface BatchLimits {
  maxItems: number;
  maxBytes: number;
}

export function readBatchLimits({ maxItems = MAX_ITEMS, maxBytes = MAX_BYTES }: Partial<BatchLimits>): BatchLimits {
  return { maxItems: Math.max(1, Math.min(maxItems, MAX_ITEMS)), maxBytes: Math.min(maxBytes, MAX_BYTES) };
}

/** How many of them, from the first on, fit into one request. One always does: the gateway says what is wrong with it. */
export function countFitting(events: readonly WrittenEvent[], { maxItems, maxBytes }: BatchLimits): number {
  let bytes = AROUND_BYTES;
  const first = events.slice(0, maxItems).findIndex((event) => {
    bytes += event.bytes + BETWEEN_BYTES;
    return bytes - BETWEEN_BYTES > maxBytes;
  });
  return first === -1 ? Math.min(events.length, maxItems) : Math.max(1, first);
}

export interface Publishing {
  one(event: EventInput, options?: RequestOptions): Promise<Published>;
  /**
   * In as many requests as it takes, one after the other. Each event is published or rejected by itself. Rejects when
   * the first request fails as a whole; when a later one does, its events and those behind them have its error.
   */
  many(events: Iterable<EventInput>, options?: RequestOptions): Promise<PublishResult[]>;
  /** In one request; events that were rejected for now are sent again. */
  batch(events: readonly WrittenEvent[], options?: RequestOptions): Promise<PublishResult[]>;
}

export function createPublishing(transport: Transport): Publishing {
  async function post(body: string, options?: RequestOptions): Promise<unknown> {
    const headers = { accept: "application/json", "content-type": "application/json" };
    const request = { method: "POST", path: EVENTS, body, headers, isRepeatable: true };
    const { status, text } = await transport.send(request, options);
    return parseAnswer(status, text);
  }

  async function postAll(events: readonly WrittenEvent[], options?: RequestOptions): Promise<PublishResult[]> {
    const body = `[${events.map(({ text }) => text).join(",")}]`;
    const answer = (await post(body, options)) as { events: (Published | Problem)[] };
    return answer.events.map((item) => (isProblem(item) ? new PosthornApiError(item) : item));
  }

  async function batch(events: readonly WrittenEvent[], options: RequestOptions = {}): Promise<PublishResult[]> {
    const { backoff } = transport;
    const results = await postAll(events, options);
    for (let retry = 0; retry < (options.retries ?? backoff.retries); retry++) {
      const left = [...results.keys()].filter((index) => isWorthRetrying(results[index], true));
      const delayMs = left.length === 0 ? undefined : delayBefore(retry, results[left[0] as number], backoff);
      if (delayMs === undefined) break;
      await wait(delayMs, options.signal);
      const again = await postAll(
        left.map((index) => events[index] as WrittenEvent),
        options,
      );
      left.forEach((index, place) => (results[index] = again[place] as PublishResult));
    }
    return results;
  }

  return {
    one: async (event, options) => (await post(writeEvent(event).text, options)) as Published,
    async many(events, options) {
      const limits = readBatchLimits({});
      const results: PublishResult[] = [];
      const written = Array.from(events, (event) => writeEvent(event));
      while (results.length < written.length) {
        const left = written.slice(results.length);
        try {
          results.push(...(await batch(left.slice(0, countFitting(left, limits)), options)));
        } catch (error) {
          // What was published before must not be lost with it.
          if (results.length === 0 || options?.signal?.aborted === true) throw error;
          results.push(...left.map(() => error as PosthornApiError));
        }
      }
      return results;
    },
    batch,
  };
}
