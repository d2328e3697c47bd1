import type { ServiceBusAdministrationClient, ServiceBusSender } from "@azure/service-bus";
import type { Clock } from "../../model/clock.ts";
import type { BrokerConnection, BrokerLimits, OutgoingMessage, Publisher } from "../broker.ts";
import { closedFault, type BrokerFault } from "../broker-fault.ts";
import { createReconnecting, type LinkOptions } from "../reconnecting.ts";
import {
  describeNamespace,
  openNamespace,
  type BusLink,
  type BusNamespace,
  type OpenNamespace,
  toBusFault,
  whileConnected,
  withDeadline,
} from "./bus-namespace.ts";
import { openBusParked, seeAllOfBus } from "./bus-parked.ts";
import { checkBusQueue, declareBusQueue, MAX_MESSAGE_BYTES, type BusQueueNeeded } from "./bus-queue-settings.ts";
import { BUS_HOLD_LIMITS, openBusTaker } from "./bus-taker.ts";

export type BusConnection = BrokerConnection<BusQueueNeeded>;

interface BusConnectionOptions extends LinkOptions {
  namespace: BusNamespace;
}

const LIMITS: BrokerLimits = { ...BUS_HOLD_LIMITS, maxMessageBytes: MAX_MESSAGE_BYTES, countsHeld: true };

/** The package would wait a minute for a far end that hangs. */
const SEND_WITHIN_MS = 15_000;
const SEE_WITHIN_MS = 60_000;
/** When the connection is cut while something is being closed, the package may wait for ever. */
const CLOSE_WITHIN_MS = 5_000;

export function createBusConnection(options: BusConnectionOptions): BusConnection {
  const { clock } = options;
  const openOwn = () => openNamespace(options.namespace);
  const toFault = (error: unknown) => toBusFault(error, describeNamespace(options.namespace));
  const link: BusLink = createReconnecting({
    ...options,
    toFault,
    // The package connects at the first send or receive, so only the first use shows whether it works.
    open: async () => ({ handle: await openOwn(), isProven: false }),
    shut: ({ client }) => closeInTime(client),
    closePart: closeInTime,
  });

  /** What could not be closed is of no use to anybody: its messages come again when their locks expire. */
  async function closeInTime(part: { close(): Promise<void> }): Promise<void> {
    await withDeadline(part.close(), CLOSE_WITHIN_MS, clock).catch(() => undefined);
  }

  async function administer<Result>(act: (client: ServiceBusAdministrationClient) => Promise<Result>): Promise<Result> {
    const { administration } = await link.get();
    try {
      return await act(administration);
    } catch (error) {
      // A policy that may send and listen may lack the right to manage: that says nothing about the connection.
      throw toFault(error);
    }
  }

  return {
    limits: LIMITS,
    state: link.state,
    openTaker: (taker) => link.keep(openBusTaker({ ...taker, link, clock })),
    openPublisher: (queue) => link.keep(openBusPublisher(queue, link, clock)),
    async depth(queue) {
      const { activeMessageCount } = await administer((client) => client.getQueueRuntimeProperties(queue));
      // Messages that are held are included.
      return { ready: activeMessageCount, held: 0 };
    },
    openParked: ({ queue }) =>
      openBusParked({
        queue,
        link,
        clock,
        openOwn,
        count: async () =>
          (await administer((client) => client.getQueueRuntimeProperties(queue))).deadLetterMessageCount,
      }),
    async seeAll(queue, where) {
      try {
        return await withDeadline(seeAllOfBus({ queue, openOwn }, where), SEE_WITHIN_MS, clock);
      } catch (error) {
        throw toFault(error);
      }
    },
    declare: (needed) => administer((client) => declareBusQueue(client, needed)),
    check: async (needed) => ({
      differences: await administer((client) => checkBusQueue(client, needed)),
      unchecked: [],
    }),
    close: () => link.close(),
  };
}

function openBusPublisher(queue: string, link: BusLink, clock: Clock): Publisher {
  let current: { handle: OpenNamespace; sender: ServiceBusSender } | undefined;
  let isClosed = false;
  /** Ends a send that nobody waits for any more: until then, nothing that it uses can be closed. */
  const underWay = new Set<AbortController>();

  function senderOf(handle: OpenNamespace): ServiceBusSender {
    if (current?.handle !== handle) current = { handle, sender: handle.client.createSender(queue) };
    return current.sender;
  }

  return {
    async publish(message) {
      if (isClosed) return { outcome: "failed", fault: closedFault() };
      let handle: OpenNamespace;
      try {
        handle = await link.get();
      } catch (error) {
        return { outcome: "failed", fault: error as BrokerFault };
      }
      const sending = new AbortController();
      underWay.add(sending);
      try {
        const { signal: abortSignal } = sending;
        const sent = senderOf(handle).sendMessages(toBusMessage(message), { abortSignal });
        await withDeadline(whileConnected(handle.client, sent), SEND_WITHIN_MS, clock);
        link.prove(handle);
        return { outcome: "confirmed" };
      } catch (error) {
        sending.abort();
        return { outcome: "failed", fault: isClosed ? closedFault() : link.recordFault(handle, error) };
      } finally {
        underWay.delete(sending);
      }
    },
    async close() {
      isClosed = true;
      for (const sending of underWay) sending.abort();
      await current?.sender.close();
    },
  };
}

function toBusMessage(message: OutgoingMessage) {
  return {
    // A Buffer is sent unchanged; the package would encode anything else as JSON.
    body: Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength),
    messageId: message.id,
    applicationProperties: { ...message.properties },
    ...(message.contentType !== undefined && { contentType: message.contentType }),
    ...(message.subject !== undefined && { subject: message.subject }),
    ...(message.sessionId !== undefined && { sessionId: message.sessionId }),
    ...(message.correlationId !== undefined && { correlationId: message.correlationId }),
  };
}
