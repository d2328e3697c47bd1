import { nameForLog } from "../alerts/contacts.ts";
import { createSubscriptionLanes } from "../resources/subscriptions/subscription-lanes.ts";
import { toRetryPolicySpec } from "../model/retry-policy.ts";
import { createTargets } from "../resources/target-states.ts";
import { listNamedSchemas } from "../resources/event-types/named-schemas.ts";
import type { Draft } from "../resources/draft.ts";
import { openSubscriptions } from "../resources/subscriptions/subscriptions.ts";
import { openSharedTargets } from "../resources/targets.ts";
import { createRouter } from "../accept/router.ts";
import { createEventWarning } from "../telemetry/event-warning.ts";
import type { Capacity } from "./capacity.ts";
import type { KnownTypes } from "./event-types.ts";
import type { MutualParts } from "./mutual-parts.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** Subscriptions and their destinations. */
export type Subscribers = Awaited<ReturnType<typeof openSubscribers>>;

export async function openSubscribers(
  { config, logger }: Start,
  made: Storage & Capacity & Tenancy & KnownTypes & Outgoing,
  later: () => MutualParts,
) {
  const { store, clock, random, authors, createId, metrics, registry, tenants, secretBox } = made;
  const { kinds, senders, templates, eventTypes, checkDestination } = made;
  const warnCostlyFilter = createEventWarning(logger, () => clock.now(), "filters cost too much and did not match");
  const router = createRouter({
    onTooCostly(event, filters) {
      metrics.countCostlyFilters(filters);
      warnCostlyFilter(event);
    },
  });
  const findHolding = (draft: Draft, tenantId: string) => ({
    sources: later()
      .sources.listPulled(draft, tenantId)
      .map(({ shown, options }) => ({ name: shown.name, options })),
    sharedTargets: sharedTargets.listIn(draft, tenantId).length,
  });
  const sharedTargets = await openSharedTargets({
    registry,
    checkDestination,
    findUser: (draft, name, tenantId) =>
      subscriptions.findIn(draft, tenantId, ({ settings }) => settings.target === name),
    findSource: (draft, name, tenantId) =>
      findHolding(draft, tenantId).sources.find(({ options }) => options["target"] === name),
    checkUsers: (draft, input, managedBy) => subscriptions.checkTarget(draft, input, managedBy),
    findOwner: (draft, name, tenantId) =>
      subscriptions.findIn(draft, tenantId, (one) => [one.name, one.id].includes(name)),
    async onChange(changes) {
      targets.take(changes);
      await subscriptions.retarget();
      later().modes.watchSoon();
    },
  });
  const targets = createTargets({
    shared: sharedTargets,
    store,
    clock,
    authors,
    maxProbeMs: config.maxProbeS * 1000,
    subscriptions: () => subscriptions,
    scheduler: () => later().scheduler,
    onMode: (known, change) => later().modes.changed(known, change),
    onChange: () => later().modes.watchSoon(),
  });
  const subscriptions = await openSubscriptions({
    registry,
    clock,
    random,
    secretBox,
    createId,
    kinds,
    retryPolicy: toRetryPolicySpec(config.defaultRetryPolicy),
    maxProbeMs: config.maxProbeS * 1000,
    rejectDestination: senders.refuse,
    isForOperators: senders.isForOperators,
    warnOfDestination: senders.warnOf,
    onHeld: (subscription, why) =>
      logger.warn({ subscription: nameForLog(subscription), reason: why }, "subscription is held"),
    findTarget: sharedTargets.findInput,
    examineTemplates: (list, events, tenantId) =>
      templates.examine(list, listNamedSchemas(events, eventTypes.list()), { line: `examinations of ${tenantId}` }),
    findQuota: (draft, tenantId) => tenants.findQuota(draft, tenantId),
    maxPerTenant: config.limits.maxSubscriptionsPerTenant,
    findHolding,
    async onChange(changes) {
      const { forwarding, scheduler, modes, drain } = later();
      router.update(subscriptions.list(undefined));
      for (const { before, after } of changes) {
        const subscription = after ?? before;
        if (subscription === undefined) continue;
        forwarding.refresh(subscription);
        scheduler.refresh(subscription.seq);
        if (after !== undefined && before?.fallback !== after.fallback) drain.bringBackFormer(after);
        if (after?.status === "active") senders.beginHandshake(after);
      }
      modes.watchSoon();
      await subscriptionLanes.skipDeadHeads(changes);
    },
    onResumed: (draft, subscription, from) =>
      later().failureEvents.resumed(draft, subscription, from, { held: "deliver", skipped: 0 }),
  });
  const subscriptionLanes = createSubscriptionLanes({
    store,
    subscriptions,
    cancelLater: (draft, subscription, open) => later().bulkReplays.cancelLane(draft, subscription, open),
    isCancelling: (seq) => later().replayRunner.isCancelling(seq),
    onMovedUp: (seq) => later().scheduler.refresh(seq),
  });
  return { router, sharedTargets, targets, subscriptions, subscriptionLanes };
}
