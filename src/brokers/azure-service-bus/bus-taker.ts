import type { ServiceBusReceiver } from "@azure/service-bus";
import type { Clock } from "../../domain/clock.ts";
import { createBell } from "../bell.ts";
import type { QueueTaker, TakenMessage, TakerOptions } from "../broker.ts";
import { closedFault, type BrokerFault } from "../broker-fault.ts";
import type { BusLink } from "./bus-connection.ts";
import type { OpenNamespace } from "./bus-namespace.ts";
import { RECEIVER_OPTIONS, subscribeTo, type Intake } from "./bus-receiver.ts";
import { openSessions } from "./bus-sessions.ts";
import { toTaken } from "./bus-taken.ts";

interface BusTakerOptions extends TakerOptions {
  link: BusLink;
  clock: Clock;
}

/** The service pushes up to `maxUnacknowledged` messages, which wait here until they are asked for. */
export function openBusTaker(options: BusTakerOptions): QueueTaker {
  const { link, clock } = options;
  const bell = createBell(clock);
  const waiting: TakenMessage[] = [];
  const held = new Set<() => void>();
  let current: { handle: OpenNamespace; stop(): Promise<void> } | undefined;
  let starting: Promise<void> | undefined;
  let fault: BrokerFault | undefined;
  let isClosed = false;

  async function start(handle: OpenNamespace): Promise<void> {
    const intake: Intake = {
      onMessage: (receiver, message, renew) =>
        // Settled is what frees the place of a message: the receiver is told so by this promise.
        new Promise((resolve) => {
          const release = () => {
            held.delete(release);
            resolve();
          };
          held.add(release);
          waiting.push(toTaken({ receiver, message, renew, release, link, handle }));
          bell.ring();
        }),
      onAnswer: () => link.prove(handle),
      onFault(error) {
        if (current?.handle !== handle) return;
        fault = link.noteFault(handle, error);
        void stop();
      },
    };
    if (options.sessions) {
      current = { handle, stop: openSessions(options, handle, intake) };
      return;
    }
    const receiver = handle.client.createReceiver(options.queue, RECEIVER_OPTIONS);
    try {
      // A subscription does not tell whether it stands; a look at the queue does, and changes nothing.
      await receiver.peekMessages(1);
    } catch (error) {
      await receiver.close().catch(() => undefined);
      fault = link.noteFault(handle, error);
      return;
    }
    link.prove(handle);
    current = { handle, stop: subscribe(receiver, intake) };
  }

  function subscribe(receiver: ServiceBusReceiver, intake: Intake): () => Promise<void> {
    return subscribeTo(receiver, intake, options.maxUnacknowledged, (message) => receiver.renewMessageLock(message));
  }

  /** What waits here is given back, if the receiver still can; else the service hands it out when its lock ends. */
  async function stop(): Promise<void> {
    const ended = current;
    current = undefined;
    const left = waiting.splice(0);
    bell.ring();
    await Promise.all(left.map((message) => message.retry().catch(() => undefined)));
    // The receiver would wait for them.
    for (const release of held) release();
    await ended?.stop();
  }

  return {
    async take(max, waitMs) {
      if (isClosed) throw closedFault();
      const handle = await link.whenOpen();
      if (current !== undefined && current.handle !== handle) await stop();
      if (current === undefined) await (starting ??= start(handle).finally(() => (starting = undefined)));
      if (waiting.length === 0 && fault === undefined) await bell.wait(waitMs);
      const failed = fault;
      fault = undefined;
      // One of the connection is waited for by the next call.
      if (failed !== undefined && !failed.isOfConnection) throw failed;
      return waiting.splice(0, max);
    },
    async close() {
      isClosed = true;
      await starting?.catch(() => undefined);
      await stop();
    },
  };
}
