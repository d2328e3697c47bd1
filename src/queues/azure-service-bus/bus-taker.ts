import type { Clock } from "../../model/clock.ts";
import { createBell } from "../bell.ts";
import type { HoldLimits, TakenMessage, Taker, TakerOptions } from "../broker.ts";
import { closedFault, type BrokerFault } from "../broker-fault.ts";
import type { BusLink } from "./bus-connection.ts";
import type { OpenNamespace } from "./bus-namespace.ts";
import { RECEIVER_OPTIONS, subscribeTo, type Intake, type Receiving } from "./bus-receiver.ts";
import { openSessions } from "./bus-sessions.ts";
import { toTaken } from "./bus-taken.ts";

/**
 * The service renews locks for as long as it is asked to; with its default and usual settings they last at least this
 * long.
 */
export const BUS_HOLD_LIMITS: HoldLimits = { holdMs: 30_000, canRenew: true, canDelayRetry: false };

interface BusTakerOptions extends TakerOptions {
  link: BusLink;
  clock: Clock;
}

/** A receiver of a queue, with the unsettled messages that it brought. */
interface Intaking extends Receiving {
  readonly handle: OpenNamespace;
  readonly held: Set<() => void>;
  readonly limit: number;
}

/** The service pushes up to `maxUnacknowledged` messages, which wait here until they are asked for. */
export function openBusTaker(options: BusTakerOptions): Taker {
  const { link, clock } = options;
  const bell = createBell(clock);
  const waiting: TakenMessage[] = [];
  let current: Intaking | undefined;
  /** Receivers that bring no more messages. They stay until theirs are settled, because only they can settle them. */
  const resting = new Set<Intaking>();
  let starting: Promise<void> | undefined;
  let fault: BrokerFault | undefined;
  let hasRested = false;
  let isClosed = false;

  async function start(handle: OpenNamespace, limit: number): Promise<void> {
    const held: Intaking["held"] = new Set();
    const intake: Intake = {
      onMessage: (receiver, message, renew) =>
        // Settling a message frees its place: the receiver waits for this promise.
        new Promise((resolve) => {
          const release = () => {
            held.delete(release);
            resolve();
            for (const one of resting) if (one.held === held) endRested(one);
          };
          held.add(release);
          const taken = toTaken({ receiver, message, renew, release, link, handle });
          // The message was on its way when the rest began.
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
      // A subscription does not tell whether it works; a peek does, and changes nothing.
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
    // Messages on their way still arrive, to be returned: if the receiver were closed before, they would stay locked
    // for nobody.
    const rested = { ...ended, stop: () => paused.then(() => ended.stop()) };
    resting.add(rested);
    await giveBackWaiting();
    endRested(rested);
    // With messages still handed out, pausing would wait for them, and so for us.
    if (ended.held.size === 0) await paused;
  }

  /**
   * Returns waiting messages if the receiver still can; otherwise the service delivers them again when their lock
   * expires.
   */
  async function stop(): Promise<void> {
    const ended = [...resting, ...(current === undefined ? [] : [current])];
    current = undefined;
    resting.clear();
    await giveBackWaiting();
    // Otherwise the receiver would wait for them.
    for (const { held } of ended) for (const release of held) release();
    await Promise.all(ended.map((one) => one.stop()));
  }

  return {
    limits: BUS_HOLD_LIMITS,
    async take(max, waitMs) {
      if (isClosed) throw closedFault();
      const handle = await link.whenOpen();
      // After a rest, no more than this may be available.
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
      // The next call waits for a connection that was lost.
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
