import { createFailureEvents } from "../operate/failure-events.ts";
import { createModeEvents } from "../operate/mode-events.ts";
import { createOwnEvents } from "../operate/own-events.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";

/** What the gateway tells of itself. */
export type OwnEventParts = ReturnType<typeof openOwnEvents>;

export function openOwnEvents(
  { logger, logFault }: Start,
  made: Storage & Capacity & Subscribers & Delivery & Acceptance,
) {
  const { clock, createId, metrics, router, targets, subscriptions, forwards, health, ingest } = made;
  const ownEvents = createOwnEvents({ ingest, clock, createId, router, onFault: logFault });
  const failureEvents = createFailureEvents({ ownEvents, clock, findSubscription: subscriptions.find });
  const modes = createModeEvents({
    targets,
    failureEvents,
    metrics,
    health,
    clock,
    logger,
    onQueueing: (waiting) => waiting.forEach(({ seq }) => forwards.giveUp(seq)),
    onFault: logFault,
  });
  return { ownEvents, failureEvents, modes };
}
