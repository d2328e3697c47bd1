import { createFailureEvents } from "../alerts/failure-events.ts";
import { createModeEvents } from "../alerts/mode-events.ts";
import { createOwnEvents } from "../accept/own-events.ts";
import { createForwarding } from "../accept/forwarding.ts";
import { createFanOut } from "../accept/fan-out.ts";
import { createIngest, traceIngest } from "../accept/ingest.ts";
import { createEventWarning } from "../telemetry/event-warning.ts";
import type { Capacity } from "./capacity.ts";
import type { Sending } from "./delivery.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** Accepts events: stores them with their deliveries. The gateway's own events are accepted in the same way. */
export type Acceptance = ReturnType<typeof openAcceptance>;

export function openAcceptance(
  { options, logger, logFault, parts }: Start,
  made: Storage & Capacity & Tenancy & Outgoing & Subscribers & Sending,
) {
  const { store, clock, createId, metrics, work, disk, quotas, credentials, router, subscriptions, targets } = made;
  const { governor, forwards, scheduler, statistics, health, drain, tracing } = made;
  const warnUnmatched = createEventWarning(logger, () => clock.now(), "nobody subscribes to this event");
  const fanOut = createFanOut({ store, router, scheduler, clock, onUnmatched: warnUnmatched });
  parts.add(() => fanOut.settled());
  const create = options.makers?.createIngest?.(createIngest) ?? createIngest;
  const untraced = create({ fanOut, quotas, governor, work, metrics, statistics, disk });
  const ingest = tracing === undefined ? untraced : traceIngest(untraced, tracing);
  const forwarding = createForwarding({ forwards, credentials, governor, router, scheduler, subscriptions });
  const ownEvents = createOwnEvents({ ingest, clock, createId, router, onFault: logFault });
  const failureEvents = createFailureEvents({ ownEvents, clock, findSubscription: subscriptions.find, statistics });
  const modes = createModeEvents({
    targets,
    failureEvents,
    metrics,
    health,
    clock,
    logger,
    onQueueing: (waiting) => waiting.forEach(({ seq }) => forwards.giveUp(seq)),
    onNormal: drain.bringBack,
    onFault: logFault,
  });
  return { fanOut, ingest, forwarding, ownEvents, failureEvents, modes };
}
