import type { Clock } from "../../model/clock.ts";
import { createWaiters } from "../waiters.ts";
import type { HoldLimits, TakenMessage, Taker, TakerOptions } from "../broker.ts";
import { closedFault, type BrokerFault } from "../broker-fault.ts";
import type { BusLink, OpenNamespace } from "./bus-namespace.ts";
import { RECEIVER_OPTIONS, toTaken } from "./bus-message.ts";
import type {
  ServiceBusError,
  ServiceBusSessionReceiver,
  ServiceBusReceivedMessage,
  ServiceBusReceiver,
} from "@azure/service-bus";

/** The service renews locks for as long as it is asked to; with usual settings they last at least this long. */
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
  const waiters = createWaiters(clock);
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
          waiters.wake();
        }),
      onAnswer: () => link.prove(handle),
      onFault(error) {
        if (current?.handle !== handle) return;
        fault = link.recordFault(handle, error);
        void stop();
      },
    };
    try {
      const { sessions } = options;
      const receiving = sessions ? openSessions(options, handle, intake, limit) : await receive(handle, intake, limit);
      current = { ...receiving, handle, held, limit };
    } catch (error) {
      fault = link.recordFault(handle, error);
    }
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
    waiters.wake();
    await Promise.all(left.map((message) => message.retry().catch(() => undefined)));
  }

  function endRested(one: Intaking): void {
    if (one.held.size === 0 && resting.delete(one)) void one.stop().catch(() => undefined);
  }

  async function rest(): Promise<void> {
    await starting?.catch(() => undefined);
    const ended = current;
    hasRested = true;
    if (ended === undefined) return;
    current = undefined;
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

  /** Messages that the receiver can no longer return are delivered again when their lock expires. */
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
      if (waiting.length === 0 && fault === undefined) await waiters.wait(waitMs);
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

/** How many sessions are received at the same time. */
const MAX_SESSIONS = 16;
/** A session without new messages makes room for another. */
const IDLE_MS = 250;
const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2000;

/** There is no session, or another receiver was faster. The package has no better error for some of these. */
function isNoneNow({ code, message }: ServiceBusError): boolean {
  return code === "ServiceTimeout" || code === "SessionCannotBeLocked" || message.startsWith("INTERNAL ERROR");
}

/** Receives several sessions at a time, each with its own receiver and in order. */
function openSessions(
  { clock, queue }: Pick<BusTakerOptions, "clock" | "queue">,
  handle: OpenNamespace,
  intake: Intake,
  limit: number,
): Receiving {
  const count = Math.min(MAX_SESSIONS, limit);
  const perSession = Math.floor(limit / count);
  const ending = new AbortController();
  const ended = createWaiters(clock);

  async function accept(): Promise<ServiceBusSessionReceiver | undefined> {
    try {
      const session = await handle.client.acceptNextSession(queue, { ...RECEIVER_OPTIONS, abortSignal: ending.signal });
      intake.onAnswer();
      return session;
    } catch (error) {
      if (ending.signal.aborted) return undefined;
      if (isNoneNow(error as ServiceBusError)) intake.onAnswer();
      else intake.onFault(error);
      return undefined;
    }
  }

  async function workOn(session: ServiceBusSessionReceiver): Promise<void> {
    const waiters = createWaiters(clock);
    const seen = { held: 0, brought: 0 };
    const counting: Intake = {
      ...intake,
      async onMessage(receiver, message, renew) {
        seen.held++;
        seen.brought++;
        waiters.wake();
        await intake.onMessage(receiver, message, renew);
        seen.held--;
      },
      // A lost session ends alone; its messages come again with the session.
      onFault: () => waiters.wake(),
    };
    const { stop } = subscribeTo(session, counting, perSession, () => session.renewSessionLock());
    let before = -1;
    while (!ending.signal.aborted && !session.isClosed && (seen.held > 0 || seen.brought > before)) {
      before = seen.brought;
      await Promise.race([waiters.wait(IDLE_MS), ended.wait(IDLE_MS)]);
    }
    await stop().catch(() => undefined);
  }

  async function work(): Promise<void> {
    let waitMs = SHORTEST_WAIT_MS;
    while (!ending.signal.aborted) {
      const session = await accept();
      if (session === undefined) {
        await ended.wait(waitMs);
        waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      } else {
        waitMs = SHORTEST_WAIT_MS;
        await workOn(session);
      }
    }
  }

  const workers = Array.from({ length: count }, work);
  async function stop(): Promise<void> {
    ending.abort();
    ended.wake();
    await Promise.all(workers);
  }
  return { pause: stop, stop };
}

/** Gets the messages of a receiver. `onFault` gets the error that ends it; no more messages come after that. */
interface Intake {
  onMessage(
    receiver: ServiceBusReceiver,
    message: ServiceBusReceivedMessage,
    renew: () => Promise<unknown>,
  ): Promise<void>;
  onFault(error: unknown): void;
  /** The service has answered. */
  onAnswer(): void;
}

interface Receiving {
  /** No more messages come; those that came can still be settled. */
  pause(): Promise<void>;
  stop(): Promise<void>;
}

function subscribeTo(
  receiver: ServiceBusReceiver | ServiceBusSessionReceiver,
  intake: Intake,
  maxConcurrentCalls: number,
  renew: (message: ServiceBusReceivedMessage) => Promise<unknown>,
): Receiving {
  const subscription = receiver.subscribe(
    {
      processMessage: (message) => intake.onMessage(receiver, message, () => renew(message)),
      processError: async ({ error }) => intake.onFault(error),
    },
    { maxConcurrentCalls, autoCompleteMessages: false },
  );
  return {
    pause: () => subscription.close(),
    async stop() {
      await subscription.close();
      await receiver.close();
    },
  };
}
