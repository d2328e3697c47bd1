import { MAX_LOOK_BYTES, type HeldParked, type ParkedMessage, type ParkedQueue, type ParkedPlace } from "./parked.ts";
import { DEFAULT_CONNECTION, type BrokerKind } from "../model/connection.ts";
import { poisonQueueOf } from "./azure-storage-queue/storage-connection.ts";
import { describeUnknown, type Connections } from "./connections.ts";
import { PosthornError } from "../model/errors.ts";
import type { Source } from "../model/source.ts";

/** Operations on parked messages, for every kind of broker, each with its result so far. */

export interface ParkedFilter {
  reason?: string | undefined;
  /** The keys of messages. */
  keys?: readonly string[] | undefined;
}

export interface ParkedPage {
  messages: ParkedMessage[];
  /** Set when there are or may be more; also undefined when this broker cannot continue a list. */
  next: string | undefined;
}

export interface Requeued {
  requeued: number;
  /** Messages whose original queue is not known: they stay. */
  withoutOrigin: number;
  /** The walk ended at its limit: there may be more messages. */
  isCutOff: boolean;
}

export type Purged = { purged: number; isCutOff: boolean } | { current: number };

/** Maximum number in one walk: messages are held meanwhile, and locks expire. */
const MAX_WALK = 500;
const STEP = 32;

function fits({ reason, keys }: ParkedFilter, message: ParkedMessage): boolean {
  return (reason === undefined || message.reason === reason) && (keys === undefined || keys.includes(message.key));
}

function isFiltering({ reason, keys }: ParkedFilter): boolean {
  return reason !== undefined || keys !== undefined;
}

export async function listParked(
  queue: ParkedQueue,
  filter: ParkedFilter,
  { max, after }: { max: number; after?: string | undefined },
): Promise<ParkedPage> {
  const { looksAt } = queue.limits;
  const asked = isFiltering(filter) ? looksAt : Math.min(max, looksAt);
  const seen = await queue.peek(asked, after);
  const messages = seen.filter((message) => fits(filter, message)).slice(0, max);
  const last = messages.length === max ? messages.at(-1) : seen.at(-1);
  const hasMore = messages.length === max || seen.length === asked;
  return { messages, next: hasMore ? last?.place : undefined };
}

export async function findParked(queue: ParkedQueue, key: string): Promise<ParkedMessage | undefined> {
  const { messages } = await listParked(queue, { keys: [key] }, { max: 1 });
  return messages[0];
}

/**
 * Each message is first copied to the queue it came from, then removed here: an interruption leaves a message twice,
 * but never loses one. All messages are held before the first one goes back, so that messages parked again meanwhile
 * are not seen again.
 */
export async function requeueParked(queue: ParkedQueue, filter: ParkedFilter): Promise<Requeued> {
  return onHeld(queue, filter, async (found, isCutOff) => {
    const able = found.filter(({ cameFrom }) => cameFrom !== undefined);
    for (const message of able) {
      await message.copyBack();
      await message.remove();
    }
    return { requeued: able.length, withoutOrigin: found.length - able.length, isCutOff };
  });
}

/** Deletes nothing unless there are `count` messages. No broker counts by reason: then the held ones count. */
export async function purgeParked(queue: ParkedQueue, filter: ParkedFilter, count: number): Promise<Purged> {
  const current = isFiltering(filter) ? undefined : await queue.count();
  if (current !== undefined && current !== count) return { current };
  return onHeld(queue, filter, async (found, isCutOff) => {
    if (current === undefined && found.length !== count) return { current: found.length };
    let purged = 0;
    for (const message of found.slice(0, count)) if ((await message.remove()) === "settled") purged++;
    return { purged, isCutOff };
  });
}

/** Acts on the matching messages, from the oldest on; returns true when there may be more. */
async function onHeld<Result>(
  queue: ParkedQueue,
  filter: ParkedFilter,
  act: (found: readonly HeldParked[], isCutOff: boolean) => Promise<Result>,
): Promise<Result> {
  const walk = queue.openWalk();
  try {
    const found: HeldParked[] = [];
    let [seen, bytes] = [0, 0];
    let isEnded = false;
    while (!isEnded && seen < MAX_WALK && bytes < MAX_LOOK_BYTES) {
      const messages = await walk.next(Math.min(STEP, MAX_WALK - seen));
      isEnded = messages.length === 0;
      seen += messages.length;
      for (const message of messages) {
        bytes += message.body.length;
        if (fits(filter, message)) found.push(message);
      }
    }
    return await act(found, !isEnded);
  } finally {
    await walk.close();
  }
}

/** Where messages of a source are parked. */
export interface SourcePlace extends ParkedPlace {
  kind: BrokerKind;
  connection: string;
}

/** A queue that is bound to a DLX has its routing key as its name; `posthorn queue declare` creates it that way. */
const DEFAULT_AMQP_QUEUE = "webhook.failed";

/** Undefined when the source does not take messages from a broker. */
export function findSourcePlace(kind: string, options: Readonly<Record<string, unknown>>): SourcePlace | undefined {
  const text = (field: string) => (typeof options[field] === "string" ? options[field] : undefined);
  const queue = text("queue") ?? "";
  const connection = text("connection") ?? DEFAULT_CONNECTION;
  switch (kind) {
    case "amqp":
      return { kind, connection, queue, parkedIn: findKey(options["park_to"]) ?? DEFAULT_AMQP_QUEUE };
    case "azure-service-bus":
      return { kind, connection, queue, parkedIn: "" };
    case "azure-storage-queue":
      return { kind, connection, queue, parkedIn: poisonQueueOf(queue) };
    default:
      return undefined;
  }
}

function findKey(parkTo: unknown): string | undefined {
  const { routing_key: key } = (parkTo ?? {}) as { routing_key?: unknown };
  return typeof key === "string" ? key : undefined;
}

export type ParkedMessages = ReturnType<typeof createParkedMessages>;

/** The messages in a source's poison queue, dead-letter queue or the queue behind its DLX. */
export function createParkedMessages(connections: Pick<Connections, "find">) {
  return {
    /** Throws `conflict` for a source that does not read from a broker. */
    open({ name, kind, settings }: Pick<Source, "name" | "kind" | "settings">): ParkedQueue {
      const place = findSourcePlace(kind, settings.options);
      if (place === undefined) {
        throw new PosthornError(
          "conflict",
          `The source ${name} is of the kind ${kind}. It does not read from a broker, so it has no parked messages.`,
        );
      }
      const connection = connections.find(place.kind, place.connection);
      if (connection === undefined) {
        throw new PosthornError("conflict", describeUnknown(place.kind, place.connection));
      }
      return connection.openParked(place);
    },
  };
}
