import { createHash } from "node:crypto";
import type { Channel, ChannelModel, GetMessage } from "amqplib";
import { FIRST_EXCHANGE, FIRST_SUBJECT, PARK_DESCRIPTION, PARK_QUEUE, PARK_REASON, PARK_TIME } from "../broker.ts";
import { BrokerFault } from "../broker-fault.ts";
import {
  createParkedWalk,
  MAX_LOOK_BYTES,
  type ParkedLimits,
  type ParkedMessage,
  type ParkedPlace,
  type ParkedQueue,
  type ParkedWalk,
} from "../parked.ts";
import type { Reconnecting } from "../reconnecting.ts";
import { toChannelFault, closeAmqp } from "./amqp-fault.ts";
import { readScalars, readText } from "./amqp-properties.ts";
import { openAmqpPublisher } from "./amqp-publisher.ts";

const LIMITS: ParkedLimits = { looksAt: 1000, canPage: true, countsLooks: true, keepsId: true };

/**
 * RabbitMQ drops messages that were delivered more often than a quorum queue allows (20 times since 4.0), and looking
 * at one counts as a delivery. So a message that was delivered several times is put back as a copy, whose count starts
 * again.
 */
const COPY_FROM_COUNT = 3;

/** AMQP has no peek: messages are taken, and then returned to their places. */
export function openAmqpParked(place: ParkedPlace, link: Reconnecting<ChannelModel>): ParkedQueue {
  return {
    limits: LIMITS,
    count: () => countMessages(place.parkedIn, link),
    async peek(max, after) {
      const skipped = Number(after ?? 0);
      const walk = openWalk(place, link);
      const messages: ParkedMessage[] = [];
      try {
        // Messages that are skipped are held too: otherwise those behind them cannot be reached.
        let bytes = 0;
        while (messages.length < Math.min(LIMITS.looksAt, skipped + max) && bytes < MAX_LOOK_BYTES) {
          const [message] = await walk.next(1);
          if (message === undefined) break;
          bytes += message.body.length;
          messages.push({ ...message, place: String(messages.length + 1) });
        }
      } finally {
        await walk.close();
      }
      return messages.slice(skipped);
    },
    openWalk: () => openWalk(place, link),
  };
}

function openWalk({ parkedIn }: ParkedPlace, link: Reconnecting<ChannelModel>): ParkedWalk {
  let opening: Promise<Channel> | undefined;
  const getChannel = () => (opening ??= openChannel(link));
  const copies = openAmqpPublisher("", link);

  async function giveBack(channel: Channel, message: GetMessage): Promise<void> {
    const count: unknown = message.properties.headers?.["x-delivery-count"];
    if (typeof count === "number" && count >= COPY_FROM_COUNT) {
      await copies.copy(parkedIn, message);
      channel.ack(message);
    } else {
      channel.nack(message, false, true);
    }
  }

  return createParkedWalk<GetMessage>({
    async take(max, hold) {
      const channel = await getChannel();
      const taken: GetMessage[] = [];
      while (taken.length < max) {
        const message = await channel.get(parkedIn, { noAck: false }).catch(throwFault);
        if (message === false) break;
        hold(message);
        taken.push(message);
      }
      return taken;
    },
    show: toParked,
    copyBack: (message) => copies.copy(toParked(message).cameFrom ?? "", message, withoutParking),
    async remove(message) {
      const channel = await getChannel();
      try {
        channel.ack(message);
      } catch {
        throw new BrokerFault("lost", "The channel was closed: RabbitMQ has all its messages back.");
      }
    },
    async close(left) {
      const channel = await opening?.catch(() => undefined);
      if (channel === undefined) return;
      try {
        for (const message of left) await giveBack(channel, message);
        await closeAmqp(channel);
        await copies.close();
      } catch {
        // The channel is closed: RabbitMQ has all its messages back.
      }
    },
  });
}

/** The ready messages of a queue. */
export async function countMessages(queue: string, link: Reconnecting<ChannelModel>): Promise<number> {
  const channel = await openChannel(link);
  const { messageCount } = await channel.checkQueue(queue).catch(throwFault);
  await closeAmqp(channel);
  return messageCount;
}

async function openChannel(link: Reconnecting<ChannelModel>): Promise<Channel> {
  const channel = await (await link.get()).createChannel();
  // A missing queue closes the channel: without a listener that would end the process.
  channel.on("error", () => undefined);
  return channel;
}

function throwFault(error: unknown): never {
  throw toChannelFault(error);
}

/** An entry of `x-death`: the last time that RabbitMQ itself moved the message. */
interface Death {
  queue?: unknown;
  exchange?: unknown;
  reason?: unknown;
  "routing-keys"?: unknown[];
  time?: { value?: unknown };
}

function toParked({ content, properties }: GetMessage): ParkedMessage {
  const headers: Readonly<Record<string, unknown>> = properties.headers ?? {};
  const death = findDeath(headers);
  const id = readText(properties.messageId);
  return {
    key: id ?? `sha256_${createHash("sha256").update(content).digest("base64url")}`,
    place: undefined,
    id,
    body: content,
    contentType: readText(properties.contentType),
    subject: readText(headers[FIRST_SUBJECT]) ?? readText(death["routing-keys"]?.[0]),
    properties: readScalars(headers),
    reason: readText(headers[PARK_REASON]) ?? readText(death.reason),
    description: readText(headers[PARK_DESCRIPTION]),
    cameFrom: readText(headers[PARK_QUEUE]) ?? readText(death.queue),
    parkedAt: findTime(headers, death),
  };
}

function findDeath(headers: Readonly<Record<string, unknown>>): Death {
  const [death = {}] = Array.isArray(headers["x-death"]) ? (headers["x-death"] as Death[]) : [];
  return death;
}

function findTime(headers: Readonly<Record<string, unknown>>, { time }: Death): number | undefined {
  if (typeof headers[PARK_TIME] === "number") return headers[PARK_TIME];
  return typeof time?.value === "number" ? time.value * 1000 : undefined;
}

const OF_PARKING = [PARK_QUEUE, PARK_REASON, PARK_DESCRIPTION, PARK_TIME];

/** The headers from before it was parked, and how it had come: the copy is published straight to a queue. */
function withoutParking(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const death = findDeath(headers);
  const [subject, exchange] = [readText(death["routing-keys"]?.[0]), readText(death.exchange)];
  const kept = Object.entries(headers).filter(
    ([name]) => !OF_PARKING.includes(name) && !/^x-(?:(?:first|last)-)?death(?:-|$)/.test(name),
  );
  return {
    ...(subject !== undefined && { [FIRST_SUBJECT]: subject }),
    ...(exchange !== undefined && { [FIRST_EXCHANGE]: exchange }),
    ...Object.fromEntries(kept),
  };
}
