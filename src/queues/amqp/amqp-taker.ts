import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import type { Clock } from "../../model/clock.ts";
import {
  FIRST_EXCHANGE,
  FIRST_SUBJECT,
  PARK_DESCRIPTION,
  PARK_QUEUE,
  PARK_REASON,
  PARK_TIME,
  type MessageProperty,
  type HoldLimits,
  type Settled,
  type TakenMessage,
  type Taker,
  type TakerOptions,
} from "../broker.ts";
import { type BrokerFault, closedFault } from "../broker-fault.ts";
import { closeAmqp, toChannelFault } from "./amqp-fault.ts";
import { createWaiters } from "../waiters.ts";
import type { Reconnecting } from "../reconnecting.ts";
import { readScalars, readText } from "./amqp-properties.ts";
import { openAmqpPublisher } from "./amqp-publisher.ts";

interface AmqpTakerOptions extends TakerOptions {
  link: Reconnecting<ChannelModel>;
  clock: Clock;
}

/** RabbitMQ's consumer timeout is 30 minutes, and nothing can make it longer; messages are given back at 27. */
export const AMQP_HOLD_LIMITS: HoldLimits = { holdMs: 30 * 60_000, canRenew: false, canDelayRetry: false };

interface Consumer {
  channel: Channel;
  tag: string;
  prefetch: number;
}

/** RabbitMQ pushes messages: prefetch limits the unsettled ones, and messages that were not asked for yet wait here. */
export function openAmqpTaker(options: AmqpTakerOptions): Taker {
  const { link, clock, queue, parkTo } = options;
  const waiting: TakenMessage[] = [];
  const waiters = createWaiters(clock);
  const faults = new WeakMap<Channel, BrokerFault>();
  const parking = openAmqpPublisher(parkTo.destination, link);
  let opened: Promise<Channel> | undefined;
  let consuming: Promise<Consumer> | undefined;
  let hasRested = false;
  let isClosed = false;
  let current: Channel | undefined;

  /** A channel that is still being opened, which may take as long as the broker is down, closes itself. */
  async function close(): Promise<void> {
    if (current !== undefined) await closeAmqp(current).catch(() => undefined);
  }

  function open(): Promise<Channel> {
    const opening = openChannel(() => forget(opening));
    return opening;
  }

  async function openChannel(onClose: () => void): Promise<Channel> {
    const channel = await (await link.whenOpen()).createChannel();
    channel.on("error", (error) => faults.set(channel, toChannelFault(error)));
    channel.on("close", onClose);
    current = channel;
    if (isClosed) await close();
    return channel;
  }

  async function consume(prefetch: number): Promise<Consumer> {
    const opening = (opened ??= open());
    let channel: Channel | undefined;
    try {
      channel = await opening;
      const from: Channel = channel;
      await channel.prefetch(prefetch);
      const { consumerTag: tag } = await channel.consume(queue, (message) => {
        // Null means that the queue was deleted; the next attempt to consume from it reports that.
        if (message === null) void from.close().catch(() => undefined);
        else waiting.push(toTaken(from, message));
        waiters.wake();
      });
      return { channel, tag, prefetch };
    } catch (error) {
      forget(opening);
      if (isClosed) throw closedFault();
      throw (channel && faults.get(channel)) ?? toChannelFault(error);
    }
  }

  async function rest(): Promise<void> {
    const ended = consuming;
    hasRested = true;
    if (ended === undefined) return;
    consuming = undefined;
    const ending = ended.then(cancel, () => undefined);
    // Does not wait for a broker that is down.
    if (link.state().state === "connected") await ending;
    waiters.wake();
  }

  async function cancel({ channel, tag }: Consumer): Promise<void> {
    await channel.cancel(tag).catch(() => undefined);
    // Some messages may have arrived before the broker knew.
    await Promise.all(waiting.splice(0).map((message) => message.retry()));
  }

  /** The waiting messages belonged to the channel: the broker delivers them again. */
  function forget(channel: Promise<Channel>): void {
    if (opened !== channel) return;
    opened = undefined;
    consuming = undefined;
    waiting.length = 0;
    waiters.wake();
  }

  function toTaken(channel: Channel, message: ConsumeMessage): TakenMessage {
    const { fields, properties, content } = message;
    const headers = readScalars(properties.headers ?? {});
    const attempt = (settle: () => void): Settled => {
      try {
        settle();
        return "settled";
      } catch {
        return "lost";
      }
    };
    return {
      id: readText(properties.messageId),
      body: content,
      contentType: readText(properties.contentType),
      subject: readText(headers[FIRST_SUBJECT]) ?? fields.routingKey,
      exchange: readText(headers[FIRST_EXCHANGE]) ?? readText(fields.exchange),
      sessionId: undefined,
      properties: headers,
      deliveryCount: countDeliveries(headers, fields.redelivered),
      renew: undefined,
      acknowledge: async () => attempt(() => channel.ack(message)),
      retry: async () => attempt(() => channel.nack(message, false, true)),
      async park(reason, description) {
        // A parked message stays until somebody looks at it.
        const lasting = { content, properties: { ...properties, expiration: undefined } };
        await parking.copy(parkTo.subject, lasting, (headers) => ({
          [FIRST_SUBJECT]: fields.routingKey,
          [FIRST_EXCHANGE]: fields.exchange,
          ...headers,
          [PARK_QUEUE]: queue,
          [PARK_REASON]: reason,
          [PARK_DESCRIPTION]: description,
          [PARK_TIME]: clock.wall(),
        }));
        return attempt(() => channel.ack(message));
      },
    };
  }

  return {
    limits: AMQP_HOLD_LIMITS,
    async take(max, waitMs) {
      if (isClosed) throw closedFault();
      // After a rest, no more than this may be available.
      const wanted = hasRested ? Math.min(max, options.maxUnacknowledged) : options.maxUnacknowledged;
      if (consuming !== undefined && (await consuming).prefetch < wanted) {
        await rest();
        hasRested = false;
      }
      consuming ??= consume(hasRested ? wanted : options.maxUnacknowledged);
      await consuming;
      if (waiting.length === 0) await waiters.wait(waitMs);
      return waiting.splice(0, max);
    },
    rest,
    async close() {
      isClosed = true;
      waiting.length = 0;
      waiters.wake();
      await close();
      await parking.close();
    },
  };
}

function countDeliveries(headers: Readonly<Record<string, MessageProperty>>, isRedelivered: boolean): number {
  // Only quorum queues count deliveries; a classic queue only says that this is not the first.
  const before = headers["x-delivery-count"];
  if (typeof before === "number") return before + 1;
  return isRedelivered ? 2 : 1;
}
