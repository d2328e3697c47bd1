import { createContacts } from "../alerts/contacts.ts";
import { createMasking } from "../accept/masking.ts";
import { createQuotaGate } from "../accept/quotas.ts";
import { createRouter } from "../accept/router.ts";
import { createRetentionTimes } from "../jobs/retention.ts";
import { findSmsSettings } from "../model/alert.ts";
import { createAuditKey, deriveAuditSeed } from "../model/audit.ts";
import { nameForLog } from "../model/tenant.ts";
import { toRetryPolicySpec } from "../model/retry-policy.ts";
import type { Subscription, SubscriptionStatus } from "../model/subscription.ts";
import { createAuditTrail } from "../resources/audit-trail.ts";
import { createAuthors } from "../resources/authors.ts";
import type { Draft } from "../resources/draft.ts";
import { openEventTypes, listNamedSchemas } from "../resources/event-types/event-types.ts";
import { openKeys } from "../resources/keys.ts";
import { openPassRecords } from "../resources/pass-records.ts";
import { createRegistry } from "../resources/registry.ts";
import type { SubscriptionChanged } from "../resources/subscriptions/known-subscriptions.ts";
import { openSubscriptions, type Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { Sources } from "../resources/sources/sources.ts";
import { createTargets, type KnownTarget } from "../resources/target-states.ts";
import { openSharedTargets } from "../resources/targets.ts";
import { openTenants } from "../resources/tenants.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import type { Target } from "../deliver/target.ts";
import { createChecker } from "../sandbox/checks/checker.ts";
import { createSchemaChecker } from "../sandbox/checks/schema-check.ts";
import { createEventWarning } from "../telemetry/event-warning.ts";
import { type Foundation, createEvent, type Start } from "./start.ts";

/** What users configure, and what follows it at once. Sources are opened later, when their kinds are known. */
export type Configured = Awaited<ReturnType<typeof openConfigured>>;

export async function openConfigured(start: Start, made: Foundation, asked: Asked) {
  const authors = createAuthors();
  const registry = createRegistry({ records: made.store.records, clock: made.clock, authors });
  const shared = { registry, authors };
  const owners = await openOwners(start, made, shared, (): Subscriptions => subscribers.subscriptions);
  const types = await openTypes(start, made, registry);
  const subscribers = await openSubscribers(start, { ...made, ...owners, ...types, ...shared }, asked);
  return { ...shared, ...owners, ...types, ...subscribers };
}

/** Parts that are created later. */
interface Asked {
  scheduler: () => Scheduler;
  sources: () => Sources;
}

type Shared = { registry: ReturnType<typeof createRegistry>; authors: ReturnType<typeof createAuthors> };

/** Tenants, keys, quotas and contacts. */
async function openOwners(
  { config, logger, logFault, parts }: Start,
  made: Foundation,
  { registry, authors }: Shared,
  subscriptions: () => Subscriptions,
) {
  const { store, clock, createId } = made;
  const key = createAuditKey(deriveAuditSeed(made.masterKey));
  const trail = createAuditTrail({ store, authors, clock, key });
  const { adminKey, limits } = config;
  const keys = await openKeys({ registry, clock, createId, adminKey, maxKeysPerTenant: limits.maxKeysPerTenant });
  const passRecords = await openPassRecords({ registry, authors, clock });
  const quotas = createQuotaGate({ store, clock, onFault: logFault });
  parts.add(() => quotas.stop());
  const retention = createRetentionTimes(config.retention);
  let { channels } = config.alerts;
  const contacts = createContacts({
    findSms: () => findSmsSettings(channels),
    onUnreachable: (tenant_id, contact, reason) =>
      logger.warn({ tenant_id, contact, reason }, "a contact cannot be notified"),
    onFault: logFault,
  });
  parts.add(() => contacts.stop());
  const tenants = await openTenants({
    registry,
    store,
    clock,
    countLiveKeys: keys.countLive,
    countSubscriptions: (draft, id) => subscriptions().count(draft, id),
    onChange(changes) {
      retention.update(changes);
      contacts.take(changes);
      return quotas.update(changes);
    },
  });
  const setChannels = (given: typeof channels) => {
    channels = given;
  };
  return { trail, keys, passRecords, quotas, retention, tenants, contacts, setChannels };
}

/** Event types and the schemas of their payloads. */
async function openTypes({ parts }: Start, { clock }: Foundation, registry: Shared["registry"]) {
  const checker = createChecker();
  parts.add(() => checker.close());
  const schemas = createSchemaChecker(checker);
  const masking = createMasking();
  const eventTypes = await openEventTypes({
    registry,
    clock,
    examine: schemas.examine,
    onChange(types) {
      masking.update(types);
      schemas.update(types);
    },
  });
  return { checker, schemas, masking, eventTypes };
}

type Owners = Awaited<ReturnType<typeof openOwners>>;
type Types = Awaited<ReturnType<typeof openTypes>>;

/** Subscriptions and their targets. */
async function openSubscribers(
  { config, logger }: Start,
  made: Foundation & Shared & Owners & Types,
  { scheduler, sources }: Asked,
) {
  const { store, clock, random, authors, createId, metrics, registry, tenants, secretBox } = made;
  const { kinds, senders, templates, eventTypes, checkDestination } = made;
  const changes = {
    subscriptions: createEvent<[readonly SubscriptionChanged[]], Promise<void>>(),
    resumed: createEvent<[draft: Draft, subscription: Subscription, from: SubscriptionStatus]>(),
    /** The list of targets whose health is checked may be another one. */
    targets: createEvent<[]>(),
    forcedMode: createEvent<[known: KnownTarget & { state: Target }, change: "opened" | "closed"]>(),
  };
  const maxProbeMs = config.maxProbeS * 1000;
  const warnCostlyFilter = createEventWarning(logger, () => clock.now(), "filters cost too much and did not match");
  const router = createRouter({
    onTooCostly(event, filters) {
      metrics.countCostlyFilters(filters);
      warnCostlyFilter(event);
    },
  });
  const findHolding = (draft: Draft, tenantId: string) => ({
    sources: sources()
      .listPulled(draft, tenantId)
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
    async onChange(changed) {
      targets.take(changed);
      await subscriptions.retarget();
      changes.targets.emit();
    },
  });
  const targets = createTargets({
    shared: sharedTargets,
    store,
    clock,
    authors,
    maxProbeMs,
    subscriptions: () => subscriptions,
    scheduler,
    onMode: changes.forcedMode.emit,
    onChange: changes.targets.emit,
  });
  const subscriptions = await openSubscriptions({
    registry,
    clock,
    random,
    secretBox,
    createId,
    kinds,
    retryPolicy: toRetryPolicySpec(config.defaultRetryPolicy),
    maxProbeMs,
    rejectDestination: async (kind, settings) => senders.find(kind.name)?.rules?.check(settings),
    isForOperators: senders.isForOperators,
    warnOfDestination: (kind, settings) => senders.find(kind.name)?.rules?.warnOf?.(settings) ?? [],
    onHeld: (subscription, why) =>
      logger.warn({ subscription: nameForLog(subscription), reason: why }, "subscription is held"),
    findTarget: sharedTargets.findInput,
    examineTemplates: (list, events, tenantId) =>
      templates.examine(list, listNamedSchemas(events, eventTypes.list()), { line: `examinations of ${tenantId}` }),
    findQuota: (draft, tenantId) => tenants.findQuota(draft, tenantId),
    maxPerTenant: config.limits.maxSubscriptionsPerTenant,
    findHolding,
    onChange: changes.subscriptions.emit,
    onResumed: changes.resumed.emit,
  });
  return { router, sharedTargets, targets, subscriptions, changes };
}
