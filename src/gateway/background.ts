import { createClaimCheck, createOrphanSweep } from "../queues/claim-check.ts";
import { DEFAULT_CONNECTION } from "../model/connection.ts";
import { ageOf } from "../model/retention.ts";
import { createRotationJobs, createSecretRotation, END_OVERLAPS } from "../jobs/secret-rotation.ts";
import { createAuditJobs, createPruneJobs } from "../jobs/retention.ts";
import { createHeldJob } from "../jobs/upkeep.ts";
import { createJobs, type Jobs } from "../jobs/jobs.ts";
import { createOrphanJob, type Sweep, type SweepOptions } from "../jobs/orphan-job.ts";
import { createTenantErasures } from "../jobs/tenant-erasure.ts";
import type { Brokers } from "./brokers.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Start } from "./options.ts";
import type { Receivers } from "./receivers.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** The periodic jobs of the gateway. */
export type Background = ReturnType<typeof openBackground>;

/** As fields of a log line. */
const MAX_NAMED = 20;

export function openBackground(
  start: Start,
  made: Storage & Capacity & Tenancy & Brokers & Subscribers & Delivery & Acceptance & Receivers,
) {
  const { config, logger, logFault, parts } = start;
  const { store, clock, random, metrics, retention, subscriptions, scheduler, failureEvents, plugins } = made;
  const rotation = openRotation(start, made, () => jobs);
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
        openSweeps: (options) => openSweeps(made, options),
        onTrouble: (error, container) =>
          start.logger.warn({ error, container }, "orphaned message bodies could not be listed"),
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

/** One for each container in which subscriptions keep large bodies and whose connection is known. */
function openSweeps(
  { store, subscriptions, connections }: Storage & Brokers & Subscribers,
  options: SweepOptions,
): Sweep[] {
  const sweeps = new Map<string, Sweep>();
  for (const subscription of subscriptions.list(undefined)) {
    const { claim_check: claim } = (subscriptions.settingsOf(subscription).destination ?? {}) as {
      claim_check?: { connection?: string; container: string } | null;
    };
    if (claim === undefined || claim === null) continue;
    const { connection = DEFAULT_CONNECTION, container } = claim;
    const account = connections.findAccount(connection);
    if (account === undefined) continue;
    const claims = createClaimCheck({ account, container, maxBytes: 0 });
    const sweep = createOrphanSweep({ ...options, claims, connections, origin: store.info.id });
    sweeps.set(`${connection} ${container}`, { ...sweep, container });
  }
  return [...sweeps.values()];
}

function openRotation(
  { config, logger }: Start,
  { clock, random, subscriptions, ownEvents }: Storage & Subscribers & Acceptance,
  getJobs: () => Jobs,
) {
  return createSecretRotation({
    subscriptions,
    ownEvents,
    clock,
    random,
    rotateAfterMs: config.secretRotationDays * 86_400_000,
    onOverlap: (endsAt) => getJobs().runBy(END_OVERLAPS, endsAt),
    onRotation: ({ id, name }, trigger) =>
      logger.info(
        { subscription_id: id, subscription: name, trigger },
        "secret rotated; the old one stays valid during the overlap",
      ),
    onOverdue: (overdue) =>
      logger.warn(
        { count: overdue.length, subscriptions: overdue.slice(0, MAX_NAMED).map(({ name }) => name) },
        "secrets are too old, and nobody would be told of new ones: rotate them, give the tenant a contact, or subscribe to webhook.secret_rotating",
      ),
  });
}
