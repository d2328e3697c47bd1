import { openSubscriptions } from "../manage/subscriptions.ts";
import { openTargets } from "../manage/targets.ts";
import { createRouter } from "../route/router.ts";
import { createEventWarning } from "../telemetry/event-warning.ts";
import type { Capacity } from "./capacity.ts";
import type { MutualParts } from "./mutual-parts.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** Who wants events, and where they go. */
export type Subscribers = Awaited<ReturnType<typeof openSubscribers>>;

export async function openSubscribers(
  { logger }: Start,
  made: Storage & Capacity & Tenancy & Outgoing,
  later: () => MutualParts,
) {
  const { store, clock, random, createId, metrics, registry, tenants, secretBox, ownUrls, checkDestination } = made;
  const warnCostlyFilter = createEventWarning(logger, () => clock.now(), "filters cost too much and did not match");
  const router = createRouter({
    onTooCostly(event, filters) {
      metrics.countCostlyFilters(filters);
      warnCostlyFilter(event);
    },
  });
  const targets = await openTargets({
    registry,
    store,
    clock,
    subscriptions: () => later().subscriptions,
    scheduler: () => later().scheduler,
    checkDestination,
    onMode: (known, change) => later().modes.changed(known, change),
    onChange: () => later().modes.watchSoon(),
  });
  const subscriptions = await openSubscriptions({
    registry,
    store,
    clock,
    random,
    secretBox,
    createId,
    checkDestination,
    checkOwnUrl: ownUrls.check,
    findTarget: targets.findDeclared,
    findQuota: (draft, tenantId) => tenants.findQuota(draft, tenantId),
    onChange(changed) {
      const { forwarding, scheduler, modes } = later();
      router.update(subscriptions.list(undefined));
      for (const subscription of changed) {
        forwarding.refresh(subscription);
        scheduler.refresh(subscription.seq);
      }
      modes.watchSoon();
    },
    onResumed: (draft, subscription, from) =>
      later().news.resumed(draft, subscription, from, { held: "deliver", skipped: 0 }),
    cancelLater: (draft, subscription, open) => later().bulkReplays.cancelLane(draft, subscription, open),
    isCancelling: (seq) => later().replayRunner.isCancelling(seq),
  });
  return { router, targets, subscriptions };
}
