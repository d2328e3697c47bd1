import type { ChannelModel, ConfirmChannel, Message } from "amqplib";
import type { OutgoingMessage, Published, Publisher } from "../broker.ts";
import { BrokerFault, closedFault } from "../broker-fault.ts";
import type { Reconnecting } from "../reconnecting.ts";
import { toChannelFault } from "./amqp-fault.ts";
import { closeAmqp } from "./close-amqp.ts";

interface AmqpPublisherOptions {
  /** "" is the default exchange, whose routing keys are names of queues. */
  exchange: string;
  link: Reconnecting<ChannelModel>;
}

interface InFlight {
  routingKey: string;
  id: string;
  isReturned: boolean;
}

interface OpenChannel {
  channel: ConfirmChannel;
  inFlight: Set<InFlight>;
  /** Why the broker closed the channel. */
  fault: BrokerFault | undefined;
}

/**
 * Publishes persistent, confirmed and mandatory messages. It has its own channel: when the broker closes it, nobody
 * else is affected.
 */
export function openAmqpPublisher({ exchange, link }: AmqpPublisherOptions): Publisher {
  let opening: Promise<OpenChannel> | undefined;
  let isClosed = false;

  function getChannel(): Promise<OpenChannel> {
    opening ??= openChannel();
    return opening;
  }

  async function openChannel(): Promise<OpenChannel> {
    try {
      const channel = await (await link.get()).createConfirmChannel();
      const open: OpenChannel = { channel, inFlight: new Set(), fault: undefined };
      channel.on("error", (error) => (open.fault = toChannelFault(error)));
      channel.on("close", () => (opening = undefined));
      channel.on("return", (message) => noteReturn(open.inFlight, message));
      return open;
    } catch (error) {
      opening = undefined;
      throw error instanceof BrokerFault ? error : lostFault();
    }
  }

  function send(open: OpenChannel, message: OutgoingMessage): Promise<Published> {
    const { channel, inFlight } = open;
    const one: InFlight = { routingKey: message.subject ?? "", id: message.id, isReturned: false };
    return new Promise((resolve) => {
      inFlight.add(one);
      const body = Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength);
      channel.publish(exchange, one.routingKey, body, toAmqpOptions(message), (error: unknown) => {
        inFlight.delete(one);
        if (error === null) {
          resolve({ outcome: one.isReturned ? "unroutable" : "confirmed" });
          return;
        }
        const isRefused = error instanceof Error && error.message === "message nacked";
        const fault = isRefused ? refusedFault() : (open.fault ?? lostFault());
        resolve({ outcome: "failed", fault, mayHaveArrived: !isRefused });
      });
    });
  }

  return {
    async publish(message) {
      if (isClosed) return { outcome: "failed", fault: closedFault(), mayHaveArrived: false };
      try {
        return await send(await getChannel(), message);
      } catch (error) {
        // The channel was closed just before its use, or there is none.
        const fault = error instanceof BrokerFault ? error : lostFault();
        return { outcome: "failed", fault, mayHaveArrived: false };
      }
    },
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

function toAmqpOptions(message: OutgoingMessage) {
  return {
    persistent: true,
    mandatory: true,
    messageId: message.id,
    timestamp: Math.floor(message.timestamp / 1000),
    headers: { ...message.properties },
    ...(message.contentType !== undefined && { contentType: message.contentType }),
    ...(message.correlationId !== undefined && { correlationId: message.correlationId }),
  };
}

function refusedFault(): BrokerFault {
  const why = "its queue is full, or the broker has a problem";
  return new BrokerFault("refused", `RabbitMQ refused the message: ${why}.`);
}

function lostFault(): BrokerFault {
  return new BrokerFault("unreachable", "The connection to RabbitMQ was lost before it confirmed the message.");
}
