import type { Clock } from "../../domain/clock.ts";
import { createBell } from "../bell.ts";
import type { QueueTaker, TakenMessage, TakerOptions } from "../broker.ts";
import { closedFault, type BrokerFault } from "../broker-fault.ts";
import type { BusLink } from "./bus-connection.ts";
import type { OpenNamespace } from "./bus-namespace.ts";
import { RECEIVER_OPTIONS, subscribeTo, type Intake, type Receiving } from "./bus-receiver.ts";
import { openSessions } from "./bus-sessions.ts";
import { toTaken } from "./bus-taken.ts";

interface BusTakerOptions extends TakerOptions {
  link: BusLink;
  clock: Clock;
}

/** What receives from a queue, with what it brought and nobody has settled. */
interface Intaking extends Receiving {
  readonly handle: OpenNamespace;
  readonly held: Set<() => void>;
  readonly limit: number;
}

/** The service pushes up to `maxUnacknowledged` messages, which wait here until they are asked for. */
export function openBusTaker(options: BusTakerOptions): QueueTaker {
  const { link, clock } = options;
  const bell = createBell(clock);
  const waiting: TakenMessage[] = [];
  let current: Intaking | undefined;
  /** Those that bring nothing more, until what they brought is settled: it can be settled over them only. */
  const resting = new Set<Intaking>();
  let starting: Promise<void> | undefined;
  let fault: BrokerFault | undefined;
  let hasRested = false;
  let isClosed = false;

  async function start(handle: OpenNamespace, limit: number): Promise<void> {
    const held: Intaking["held"] = new Set();
    const intake: Intake = {
      onMessage: (receiver, message, renew) =>
        // Settled is what frees the place of a message: the receiver is told so by this promise.
        new Promise((resolve) => {
          const release = () => {
            held.delete(release);
            resolve();
            for (const one of resting) if (one.held === held) endRested(one);
          };
          held.add(release);
          const taken = toTaken({ receiver, message, renew, release, link, handle });
          // It was on its way when this began to rest.
          if (current?.held !== held && starting === undefined) return void taken.retry().catch(() => undefined);
          waiting.push(taken);
          bell.ring();
        }),
      onAnswer: () => link.prove(handle),
      onFault(error) {
        if (current?.handle !== handle) return;
        fault = link.noteFault(handle, error);
        void stop();
      },
    };
    const receiving = options.sessions
      ? receiveSessions(handle, intake, limit)
      : await receive(handle, intake, limit).catch((error: unknown) => {
          fault = link.noteFault(handle, error);
        });
    if (receiving !== undefined) current = { ...receiving, handle, held, limit };
  }

  function receiveSessions(handle: OpenNamespace, intake: Intake, maxUnacknowledged: number): Receiving {
    const stopSessions = openSessions({ ...options, maxUnacknowledged }, handle, intake);
    return { pause: stopSessions, stop: stopSessions };
  }

  async function receive(handle: OpenNamespace, intake: Intake, limit: number): Promise<Receiving> {
    const receiver = handle.client.createReceiver(options.queue, RECEIVER_OPTIONS);
    try {
      // A subscription does not tell whether it stands; a look at the queue does, and changes nothing.
      await receiver.peekMessages(1);
    } catch (error) {
      await receiver.close().catch(() => undefined);
      throw error;
    }
    link.prove(handle);
    return subscribeTo(receiver, intake, limit, (message) => receiver.renewMessageLock(message));
  }

  async function giveBackWaiting(): Promise<void> {
    const left = waiting.splice(0);
    bell.ring();
    await Promise.all(left.map((message) => message.retry().catch(() => undefined)));
  }

  function endRested(one: Intaking): void {
    if (one.held.size === 0 && resting.delete(one)) void one.stop().catch(() => undefined);
  }

  async function rest(): Promise<void> {
    await starting?.catch(() => undefined);
    const ended = current;
    if (ended === undefined) return;
    current = undefined;
    hasRested = true;
    const paused = ended.pause().catch(() => undefined);
    // What is on its way still comes, to be given back: closed before that, it would be locked and nobody's.
    const rested = { ...ended, stop: () => paused.then(() => ended.stop()) };
    resting.add(rested);
    await giveBackWaiting();
    endRested(rested);
    // One that waits for what was handed out would wait for us.
    if (ended.held.size === 0) await paused;
  }

  /** What waits here is given back, if the receiver still can; else the service hands it out when its lock ends. */
  async function stop(): Promise<void> {
    const ended = [...resting, ...(current === undefined ? [] : [current])];
    current = undefined;
    resting.clear();
    await giveBackWaiting();
    // The receiver would wait for them.
    for (const { held } of ended) for (const release of held) release();
    await Promise.all(ended.map((one) => one.stop()));
  }

  return {
    async take(max, waitMs) {
      if (isClosed) throw closedFault();
      const handle = await link.whenOpen();
      // After a rest it may be that no more than this is to be had.
      const wanted = hasRested ? Math.min(max, options.maxUnacknowledged) : options.maxUnacknowledged;
      if (current !== undefined && current.handle !== handle) await stop();
      if (current !== undefined && current.limit < wanted) {
        await rest();
        hasRested = false;
      }
      if (current === undefined) {
        const limit = hasRested ? wanted : options.maxUnacknowledged;
        await (starting ??= start(handle, limit).finally(() => (starting = undefined)));
      }
      if (waiting.length === 0 && fault === undefined) await bell.wait(waitMs);
      const failed = fault;
      fault = undefined;
      // One of the connection is waited for by the next call.
      if (failed !== undefined && !failed.isOfConnection) throw failed;
      return waiting.splice(0, max);
    },
    rest,
    async close() {
      isClosed = true;
      await starting?.catch(() => undefined);
      await stop();
    },
  };
}
