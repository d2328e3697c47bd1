import type { ChannelModel, ConfirmChannel, Message, Options } from "amqplib";
import type { OutgoingMessage, Published } from "../broker.ts";
import { BrokerFault, closedFault, createFaults, DECLARE, firstLine } from "../broker-fault.ts";
import type { Reconnecting } from "../reconnecting.ts";
import { findMaxBytes, toChannelFault, closeAmqp } from "./amqp-fault.ts";
import { givenOf, headersOf, toAmqpProperties } from "./amqp-properties.ts";

interface InFlight {
  routingKey: string;
  id: string | undefined;
  isReturned: boolean;
}

type Copied = Pick<Message, "content" | "properties">;
type Headers = Readonly<Record<string, unknown>>;

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
 * else is affected. The exchange "" is the default one, whose routing keys are names of queues.
 */
export function openAmqpPublisher(exchange: string, link: Reconnecting<ChannelModel>) {
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
      channel.on("return", (message) => recordReturn(open.inFlight, message));
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
        else resolve({ outcome: "failed", fault: toFault(error, open, body.length) });
      };
      try {
        channel.publish(exchange, routingKey, body, options, confirmed);
      } catch (error) {
        inFlight.delete(one);
        resolve({ outcome: "failed", fault: findEncodingFault(error) ?? open.fault ?? lostFault() });
      }
    });
  }

  async function publishAs(routingKey: string, body: Buffer, properties: Options.Publish): Promise<Published> {
    if (isClosed) return { outcome: "failed", fault: closedFault() };
    try {
      return await send(await getChannel(), routingKey, body, properties);
    } catch (error) {
      return { outcome: "failed", fault: error as BrokerFault };
    }
  }

  return {
    publish(message: OutgoingMessage): Promise<Published> {
      const body = Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength);
      return publishAs(message.subject ?? "", body, toAmqpProperties(message));
    },
    /** Publishes a message that came from RabbitMQ, with all properties that it had. Rejects with a BrokerFault. */
    async copy(routingKey: string, { content, properties }: Copied, change = (headers: Headers) => headers) {
      const headers = change(headersOf(properties));
      const published = await publishAs(routingKey, content, { ...givenOf(properties), headers });
      if (published.outcome === "failed") throw published.fault;
      if (published.outcome === "confirmed") return;
      const missing =
        exchange === "" ? `has no queue ${routingKey}` : `has nothing bound to ${exchange} for ${routingKey}`;
      throw rabbitFault("not_found", `${missing}, where the message should go. ${DECLARE}`);
    },
    async close(): Promise<void> {
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
function recordReturn(inFlight: ReadonlySet<InFlight>, { fields, properties }: Message): void {
  for (const one of inFlight) {
    if (one.isReturned || one.id !== properties.messageId || one.routingKey !== fields.routingKey) continue;
    one.isReturned = true;
    return;
  }
}

const rabbitFault = createFaults("RabbitMQ");

function toFault(error: unknown, { fault, maxBytes }: OpenChannel, bytes: number): BrokerFault {
  if (error instanceof Error && error.message === "message nacked") {
    return rabbitFault("refused", "refused the message: its queue is full, or the broker has a problem.");
  }
  // RabbitMQ closes the whole channel, and names no message.
  if (maxBytes !== undefined && bytes <= maxBytes) {
    return rabbitFault("lost", "closed the channel because of another message, before it confirmed this one.");
  }
  return fault ?? lostFault();
}

/** amqplib throws these before it sends anything, and another error when the channel was just closed. */
function findEncodingFault(error: unknown): BrokerFault | undefined {
  const isOfEncoding = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
  if (!isOfEncoding) return undefined;
  return new BrokerFault("invalid", `The message cannot be written for RabbitMQ: ${firstLine(error)}.`);
}

function lostFault(): BrokerFault {
  return new BrokerFault("unreachable", "The connection to RabbitMQ was lost before it confirmed the message.");
}
