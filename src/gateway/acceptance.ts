import { createForwarding } from "../receive/forwarding.ts";
import { createFanOut } from "../route/fan-out.ts";
import { createIngest } from "../route/ingest.ts";
import { createEventWarning } from "../telemetry/event-warning.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** From an event to its record and its deliveries. */
export type Acceptance = ReturnType<typeof openAcceptance>;

export function openAcceptance(
  { options, logger, parts }: Start,
  made: Storage & Capacity & Tenancy & Outgoing & Subscribers & Delivery,
) {
  const { store, clock, metrics, work, disk, quotas, credentials, router, subscriptions } = made;
  const { governor, forwards, scheduler } = made;
  const warnUnmatched = createEventWarning(logger, () => clock.now(), "nobody subscribes to this event");
  const fanOut = createFanOut({ store, router, scheduler, clock, onUnmatched: warnUnmatched });
  parts.add(() => fanOut.settled());
  const create = options.makers?.createIngest?.(createIngest) ?? createIngest;
  const ingest = create({ fanOut, quotas, governor, work, metrics, disk });
  const forwarding = createForwarding({ forwards, credentials, governor, router, scheduler, subscriptions });
  return { fanOut, ingest, forwarding };
}
