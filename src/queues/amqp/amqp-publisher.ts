import type { ChannelModel, ConfirmChannel, Message, Options } from "amqplib";
import type { Published, Publisher } from "../broker.ts";
import { BrokerFault, closedFault, firstLine } from "../broker-fault.ts";
import type { Reconnecting } from "../reconnecting.ts";
import { findMaxBytes, toChannelFault, closeAmqp } from "./amqp-fault.ts";
import { toAmqpProperties } from "./amqp-properties.ts";

export interface AmqpPublisher extends Publisher {
  /** The same with the properties of AMQP itself, for a message that came from RabbitMQ. */
  publishAs(routingKey: string, body: Buffer, properties: Options.Publish): Promise<Published>;
}

interface AmqpPublisherOptions {
  /** "" is the default exchange, whose routing keys are names of queues. */
  exchange: string;
  link: Reconnecting<ChannelModel>;
}

interface InFlight {
  routingKey: string;
  id: string | undefined;
  isReturned: boolean;
}

interface OpenChannel {
  channel: ConfirmChannel;
  inFlight: Set<InFlight>;
  /** Why the broker closed the channel. */
  fault: BrokerFault | undefined;
  /** The size that a message exceeded, if that is why. */
  maxBytes: number | undefined;
}

/**
 * Publishes persistent, confirmed and mandatory messages. It has its own channel: when the broker closes it, nobody
 * else is affected.
 */
export function openAmqpPublisher({ exchange, link }: AmqpPublisherOptions): AmqpPublisher {
  let opening: Promise<OpenChannel> | undefined;
  let isClosed = false;

  function getChannel(): Promise<OpenChannel> {
    opening ??= openChannel();
    return opening;
  }

  async function openChannel(): Promise<OpenChannel> {
    try {
      const channel = await (await link.get()).createConfirmChannel();
      const open: OpenChannel = { channel, inFlight: new Set(), fault: undefined, maxBytes: undefined };
      channel.on("error", (error) => {
        open.fault = toChannelFault(error);
        open.maxBytes = findMaxBytes(error);
      });
      channel.on("close", () => (opening = undefined));
      channel.on("return", (message) => noteReturn(open.inFlight, message));
      return open;
    } catch (error) {
      opening = undefined;
      throw error instanceof BrokerFault ? error : lostFault();
    }
  }

  function send(open: OpenChannel, routingKey: string, body: Buffer, properties: Options.Publish): Promise<Published> {
    const { channel, inFlight } = open;
    const one: InFlight = { routingKey, id: properties.messageId, isReturned: false };
    return new Promise((resolve) => {
      inFlight.add(one);
      const options = { ...properties, persistent: true, mandatory: true };
      const confirmed = (error: unknown) => {
        inFlight.delete(one);
        if (error === null) resolve({ outcome: one.isReturned ? "unroutable" : "confirmed" });
        else resolve(toFailed(error, open, body.length));
      };
      try {
        channel.publish(exchange, routingKey, body, options, confirmed);
      } catch (error) {
        inFlight.delete(one);
        const fault = isOfEncoding(error) ? invalidFault(error) : (open.fault ?? lostFault());
        resolve({ outcome: "failed", fault, mayHaveArrived: false });
      }
    });
  }

  async function publishAs(routingKey: string, body: Buffer, properties: Options.Publish): Promise<Published> {
    if (isClosed) return { outcome: "failed", fault: closedFault(), mayHaveArrived: false };
    try {
      return await send(await getChannel(), routingKey, body, properties);
    } catch (error) {
      return { outcome: "failed", fault: error as BrokerFault, mayHaveArrived: false };
    }
  }

  return {
    publish(message) {
      const body = Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength);
      return publishAs(message.subject ?? "", body, toAmqpProperties(message));
    },
    publishAs,
    async close() {
      isClosed = true;
      const open = await opening?.catch(() => undefined);
      // Messages in flight are confirmed first, or fail when the connection is lost.
      await open?.channel.waitForConfirms().catch(() => undefined);
      if (open !== undefined) await closeAmqp(open.channel).catch(() => undefined);
    },
  };
}

/**
 * A return comes before its confirm, and returns come in the order of publishing. Two messages with the same key and id
 * are routed alike, so it does not matter which of them a return means.
 */
function noteReturn(inFlight: ReadonlySet<InFlight>, { fields, properties }: Message): void {
  for (const one of inFlight) {
    if (one.isReturned || one.id !== properties.messageId || one.routingKey !== fields.routingKey) continue;
    one.isReturned = true;
    return;
  }
}

function toFailed(error: unknown, { fault, maxBytes }: OpenChannel, bytes: number): Published {
  const isRejected = error instanceof Error && error.message === "message nacked";
  if (isRejected) return { outcome: "failed", fault: rejectedFault(), mayHaveArrived: false };
  if (maxBytes === undefined) return { outcome: "failed", fault: fault ?? lostFault(), mayHaveArrived: true };
  // RabbitMQ closes the whole channel, and names no message.
  const isTooLarge = bytes > maxBytes;
  return { outcome: "failed", fault: (isTooLarge ? fault : undefined) ?? crowdedFault(), mayHaveArrived: !isTooLarge };
}

/** amqplib throws these before it sends anything, and another error when the channel was just closed. */
function isOfEncoding(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

function invalidFault(error: unknown): BrokerFault {
  return new BrokerFault("invalid", `The message cannot be written for RabbitMQ: ${firstLine(error)}.`);
}

function crowdedFault(): BrokerFault {
  return new BrokerFault(
    "lost",
    "RabbitMQ closed the channel because of another message, before it confirmed this one.",
  );
}

function rejectedFault(): BrokerFault {
  const why = "its queue is full, or the broker has a problem";
  return new BrokerFault("refused", `RabbitMQ refused the message: ${why}.`);
}

function lostFault(): BrokerFault {
  return new BrokerFault("unreachable", "The connection to RabbitMQ was lost before it confirmed the message.");
}
