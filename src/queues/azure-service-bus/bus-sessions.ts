import type { ServiceBusError, ServiceBusSessionReceiver } from "@azure/service-bus";
import type { Clock } from "../../model/clock.ts";
import { createBell } from "../bell.ts";
import type { OpenNamespace } from "./bus-namespace.ts";
import { RECEIVER_OPTIONS, subscribeTo, type Intake } from "./bus-receiver.ts";

interface SessionsOptions {
  clock: Clock;
  queue: string;
  maxUnacknowledged: number;
}

/** How many sessions are received at the same time. */
const MAX_SESSIONS = 16;
/** A session without new messages makes room for another. */
const IDLE_MS = 250;
const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2000;

/**
 * There is no session, or another receiver was faster. The package has no better error when the link is closed at once.
 */
function isNoneNow({ code, message }: ServiceBusError): boolean {
  return code === "ServiceTimeout" || code === "SessionCannotBeLocked" || message.startsWith("INTERNAL ERROR");
}

/**
 * Receives several sessions at a time, each with its own receiver and in order. Returns a function that ends all of
 * this.
 */
export function openSessions(
  { clock, queue, maxUnacknowledged }: SessionsOptions,
  handle: OpenNamespace,
  intake: Intake,
): () => Promise<void> {
  const count = Math.min(MAX_SESSIONS, maxUnacknowledged);
  const perSession = Math.floor(maxUnacknowledged / count);
  const ending = new AbortController();
  const ended = createBell(clock);

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
    const bell = createBell(clock);
    const seen = { held: 0, brought: 0 };
    const counting: Intake = {
      ...intake,
      async onMessage(receiver, message, renew) {
        seen.held++;
        seen.brought++;
        bell.ring();
        await intake.onMessage(receiver, message, renew);
        seen.held--;
      },
      // A lost session ends alone; its messages come again with the session.
      onFault: () => bell.ring(),
    };
    const { stop } = subscribeTo(session, counting, perSession, () => session.renewSessionLock());
    let before = -1;
    while (!ending.signal.aborted && !session.isClosed && (seen.held > 0 || seen.brought > before)) {
      before = seen.brought;
      await Promise.race([bell.wait(IDLE_MS), ended.wait(IDLE_MS)]);
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
  return async () => {
    ending.abort();
    ended.ring();
    await Promise.all(workers);
  };
}
