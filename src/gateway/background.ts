import { createAlertLog } from "../alerts/alert-events.ts";
import { openAlerts } from "../alerts/alerts.ts";
import { createFactsReader, createParkedCounts } from "../alerts/facts.ts";
import { createAuditJobs, createPruneJobs } from "../jobs/retention.ts";
import { createHeldJob } from "../jobs/upkeep.ts";
import type { Config } from "../config/settings-tree.ts";
import { createJobs, type Jobs } from "../jobs/jobs.ts";
import { createOrphanJob } from "../jobs/orphan-job.ts";
import { createRotationJobs, createSecretRotation, END_OVERLAPS, logRotations } from "../jobs/secret-rotation.ts";
import { createTenantErasures } from "../jobs/tenant-erasure.ts";
import { toActiveRules } from "../model/alert.ts";
import { ageOf } from "../model/retention.ts";
import { createParkedMessages, findSourcePlace } from "../queues/parked-messages.ts";
import type { Configured } from "./configured.ts";
import type { Delivery } from "./delivery.ts";
import type { Foundation, Start } from "./start.ts";
import type { Intake } from "./intake.ts";

/** The periodic jobs of the gateway. */
export type Background = ReturnType<typeof openBackground>;

export function openBackground(start: Start, made: Foundation & Configured & Delivery & Intake) {
  const { config, logger, logFault, parts } = start;
  const { store, clock, random, metrics, retention, subscriptions, connections, scheduler, plugins } = made;
  const { ownEvents, failureEvents } = made;
  const rotation = createSecretRotation({
    subscriptions,
    ownEvents,
    clock,
    random,
    rotateAfterMs: config.secretRotationDays * 86_400_000,
    onOverlap: (endsAt) => jobs.runBy(END_OVERLAPS, endsAt),
    ...logRotations(logger),
  });
  const jobs: Jobs = createJobs({
    store,
    clock,
    runner: Buffer.from(random.bytes(8)).toString("hex"),
    jobs: [
      ...createRotationJobs(rotation),
      ...createPruneJobs({
        store,
        clock,
        rules: retention.rules,
        idempotencyKeysKeptMs: ageOf(config.retention.idempotencyKeysDays),
        onPruned: ({ removed }) => metrics.countPruned(removed),
      }),
      createHeldJob({
        store,
        subscriptions,
        findMode: scheduler.findMode,
        clock,
        maxHeldMs: config.heldMaxDays * 86_400_000,
        onDead: failureEvents.diedUnsent,
        onMovedUp: scheduler.refresh,
      }),
      ...createAuditJobs({
        store,
        clock,
        keptMs: ageOf(config.retention.auditDays),
        onAnchor: ({ seq, hash }) => logger.info({ anchor: `${seq}:${hash}` }, "audit log checkpoint"),
      }),
      createOrphanJob({
        store,
        clock,
        subscriptions,
        connections,
        onTrouble: (error, container) =>
          logger.warn({ error, container }, "orphaned message bodies could not be listed"),
      }),
      ...plugins.jobs,
    ],
    onFault: logFault,
  });
  parts.add(() => jobs.stop());
  // Opened before the jobs, because one of them may wait for its answer.
  parts.add(() => plugins.close());
  const erasures = createTenantErasures({
    ...made,
    onCancelled: scheduler.withdraw,
    onEnd: ({ tenantId, events, records }) =>
      logger.info({ tenant_id: tenantId, events, records }, "a tenant was erased"),
    onFault: logFault,
  });
  parts.add(() => erasures.stop());
  return { rotation, jobs, erasures };
}

/** Finds problems, and sends alerts. */
export type Alerting = Awaited<ReturnType<typeof openAlerting>>;

export async function openAlerting(start: Start, made: Foundation & Configured & Delivery & Intake & Background) {
  const { config, logger, logFault, parts } = start;
  const { registry, ownEvents, clock, createId, sources, attemptWindows, validations } = made;
  const rules = toActiveRules(config.alerts.rules);
  if (config.alerts.enabled) attemptWindows.watch(rules);
  const parked = createParkedMessages(made.connections);
  const parkedCounts = createParkedCounts({
    clock,
    // Paused sources too: their parked messages are still there.
    listSources: () =>
      sources
        .list(undefined)
        .filter(({ source: { kind, settings } }) => findSourcePlace(kind, settings.options) !== undefined)
        .map(({ source: { name, tenantId } }) => ({ name, tenantId })),
    async count(name) {
      const source = sources.find(name);
      return source === undefined ? 0 : parked.open(source).count();
    },
  });
  parts.add(() => parkedCounts.stop());
  let { channels } = config.alerts;
  const alerts = await openAlerts({
    registry,
    ownEvents,
    clock,
    createId,
    rules,
    isErasing: (tenantId) => made.tenants.find(tenantId)?.thing.isErasing === true,
    everyMs: config.alerts.everyS * 1000,
    loadFacts: createFactsReader({
      ...made,
      attempts: attemptWindows.byLength,
      listDisabledSources: made.plugins.listDisabledSources,
      parked: parkedCounts,
      listBrokenFiles: validations.listBroken,
      listCertificates: made.certificates.list,
      listOverdueSecrets: made.rotation.listOverdue,
    }),
    ...createAlertLog(logger, () => channels),
    onFault: logFault,
  });
  parts.add(() => alerts.stop());

  return {
    alerts,
    parked,
    startAlerts() {
      if (!config.alerts.enabled) return;
      made.validationBroken.listen(() => alerts.lookSoon("validation_broken"));
      parkedCounts.start();
      alerts.start();
      if (validations.listBroken().length > 0) alerts.lookSoon("validation_broken");
    },
    /** Whether it looks at all is decided at the start. */
    reloadAlerts(given: Config["alerts"]) {
      const changed = toActiveRules(given.rules);
      if (config.alerts.enabled) attemptWindows.watch(changed);
      alerts.setRules(changed);
      channels = given.channels;
    },
  };
}
