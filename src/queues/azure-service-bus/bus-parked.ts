import type { ServiceBusReceivedMessage, ServiceBusReceiver, ServiceBusSender } from "@azure/service-bus";
import type { Clock } from "../../model/clock.ts";
import { FIRST_ID, PARK_DESCRIPTION, PARK_REASON } from "../broker.ts";
import {
  createParkedWalk,
  MAX_LOOK_BYTES,
  type ParkedLimits,
  type ParkedMessage,
  type ParkedQueue,
  type ParkedWalk,
} from "../parked.ts";
import { fitId } from "../message.ts";
import { type BusLink, type OpenNamespace, withDeadline } from "./bus-namespace.ts";
import { RECEIVER_OPTIONS, readBody, readId, readProperties } from "./bus-message.ts";

interface BusParkedOptions {
  queue: string;
  link: BusLink;
  clock: Clock;
  /** Opens another namespace, which the caller must close. */
  openOwn(): Promise<OpenNamespace>;
  /** Rejects with advice when the credentials may not manage the namespace. */
  count(): Promise<number>;
}

const LIMITS: ParkedLimits = { looksAt: 1000, canPage: true, countsLooks: false, keepsId: true };
const ANSWER_WITHIN_MS = 30_000;
/** The service does not say that there are no more messages: it just does not answer. */
const NOTHING_AFTER_MS = 1000;

/** The queue's own dead letters. They have no sessions and do not expire. */
export function openBusParked(options: BusParkedOptions): ParkedQueue {
  const { queue, link, clock, count } = options;

  const use: Use = (act) => link.use((handle) => withDeadline(act(handle), ANSWER_WITHIN_MS, clock));
  const openReceiver = ({ client }: OpenNamespace) =>
    client.createReceiver(queue, { ...RECEIVER_OPTIONS, subQueueType: "deadLetter" });

  return {
    limits: LIMITS,
    count,
    peek: (max, after) =>
      use(async () => {
        // For all users of one client, the package continues where the last peek ended: a new client begins at the
        // oldest.
        const own = await options.openOwn();
        try {
          return await peekAll(openReceiver(own), Math.min(max, LIMITS.looksAt), after, queue);
        } finally {
          await own.client.close();
        }
      }),
    openWalk: () => openWalk(queue, use, openReceiver),
  };
}

async function peekAll(
  receiver: ServiceBusReceiver,
  max: number,
  after: string | undefined,
  queue: string,
): Promise<ParkedMessage[]> {
  const found: ParkedMessage[] = [];
  let bytes = 0;
  let next = after === undefined ? undefined : await findNumber(receiver, after);
  if (after !== undefined && next === undefined) return [];
  while (found.length < max && bytes < MAX_LOOK_BYTES) {
    const wanted = Math.min(256, max - found.length);
    const messages = await receiver.peekMessages(wanted, next === undefined ? {} : { fromSequenceNumber: next });
    if (messages.length === 0) break;
    for (const message of messages) {
      const parked = toParked(message, queue);
      bytes += parked.body.length;
      found.push(parked);
    }
    next = messages.at(-1)?.sequenceNumber?.add(1);
  }
  return found;
}

/** Undefined when the queue forwards its messages, or has more messages than are looked at. */
export async function seeAllOfBus(
  { queue, openOwn }: Pick<BusParkedOptions, "queue" | "openOwn">,
  where: "waiting" | "parked",
): Promise<readonly Buffer[] | undefined> {
  const own = await openOwn();
  try {
    const { forwardTo, forwardDeadLetteredMessagesTo: forwardDeadTo } = await own.administration.getQueue(queue);
    if ((forwardTo ?? forwardDeadTo) !== undefined) return undefined;
    const subQueue = where === "parked" ? { subQueueType: "deadLetter" as const } : {};
    const receiver = own.client.createReceiver(queue, { ...RECEIVER_OPTIONS, ...subQueue });
    const seen = await peekAll(receiver, LIMITS.looksAt, undefined, queue);
    const bytes = seen.reduce((sum, { body }) => sum + body.length, 0);
    return seen.length < LIMITS.looksAt && bytes < MAX_LOOK_BYTES ? seen.map(({ body }) => body) : undefined;
  } finally {
    await own.client.close();
  }
}

/** The package has a type of its own for large numbers: this one is derived from a number that it returned. */
async function findNumber(receiver: ServiceBusReceiver, after: string) {
  const [first] = await receiver.peekMessages(1);
  const { sequenceNumber } = first ?? {};
  return sequenceNumber?.sub(sequenceNumber).add(after).add(1);
}

type Use = <Result>(act: (handle: OpenNamespace) => Promise<Result>) => Promise<Result>;

function openWalk(queue: string, use: Use, openReceiver: (handle: OpenNamespace) => ServiceBusReceiver): ParkedWalk {
  let opened: { receiver: ServiceBusReceiver; sender: ServiceBusSender } | undefined;
  let last: ServiceBusReceivedMessage | undefined;

  return createParkedWalk<ServiceBusReceivedMessage>({
    take: (max, hold) =>
      use(async (handle) => {
        // Messages can be settled only over the link that brought them.
        opened ??= { receiver: openReceiver(handle), sender: handle.client.createSender(queue) };
        const { receiver } = opened;
        const wanted = await countNext(receiver, last, max);
        if (wanted === 0) return [];
        const messages = await receiver.receiveMessages(wanted, { maxWaitTimeInMs: NOTHING_AFTER_MS });
        last = messages.at(-1) ?? last;
        messages.forEach(hold);
        return messages;
      }),
    show: (message) => toParked(message, queue),
    copyBack: (message) => use(async () => opened?.sender.sendMessages(toCopy(message))),
    remove: (message) => use(async () => opened?.receiver.completeMessage(message)),
    async close(left) {
      const receiver = opened?.receiver;
      // A message that cannot be returned now comes back when its lock expires.
      for (const message of left) await receiver?.abandonMessage(message).catch(() => undefined);
      await receiver?.close().catch(() => undefined);
      await opened?.sender.close().catch(() => undefined);
    },
  });
}

/**
 * How many messages to ask for after that one. The package waits a second whenever it gets fewer than it asked for, so
 * a look shows before how many there are.
 */
async function countNext(
  receiver: ServiceBusReceiver,
  last: ServiceBusReceivedMessage | undefined,
  max: number,
): Promise<number> {
  const number = last?.sequenceNumber;
  // Numbers are derived from one that the package returned: the first message brings it.
  if (number === undefined) return 1;
  // Numbers of a partitioned queue begin with the partition, and are in no order.
  if (number.getHighBitsUnsigned() >>> 16 !== 0) return max;
  return (await receiver.peekMessages(max, { fromSequenceNumber: number.add(1) })).length;
}

function toParked(message: ServiceBusReceivedMessage, queue: string): ParkedMessage {
  const {
    [PARK_REASON]: reason,
    [PARK_DESCRIPTION]: description,
    DeadLetterReason: _reason,
    DeadLetterErrorDescription: _description,
    ...properties
  } = readProperties(message);
  const number = message.sequenceNumber?.toString() ?? "";
  return {
    key: number,
    place: number,
    id: readId(message),
    body: readBody(message.body),
    contentType: message.contentType,
    subject: message.subject,
    properties,
    reason: reason === undefined ? undefined : String(reason),
    description: description === undefined ? undefined : String(description),
    cameFrom: queue,
    parkedAt: undefined,
  };
}

/**
 * The copy gets another id, because the queue would silently drop it as a duplicate; the first id is sent along. The
 * new id contains the number of the dead letter: if an interrupted requeue is repeated, the second copy is dropped.
 */
function toCopy(message: ServiceBusReceivedMessage) {
  const {
    DeadLetterReason: _reason,
    DeadLetterErrorDescription: _description,
    ...properties
  } = message.applicationProperties ?? {};
  const id = readId(message) ?? "";
  const { contentType, subject, sessionId, correlationId, replyTo, to } = message;
  const given = Object.entries({ contentType, subject, sessionId, correlationId, replyTo, to });
  return {
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    body: readBody(message.body),
    messageId: fitId(`requeued:${message.sequenceNumber?.toString() ?? ""}:${id}`),
    applicationProperties: { ...properties, [FIRST_ID]: id },
  };
}
