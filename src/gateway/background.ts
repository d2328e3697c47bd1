import { ageOf } from "../domain/retention.ts";
import { createRotationJobs, createSecretRotation, END_OVERLAPS } from "../operate/secret-rotation.ts";
import { createHeldJob } from "../operate/held-deliveries.ts";
import { createJobs, type Jobs } from "../operate/jobs.ts";
import { createPruneJobs } from "../operate/prune-jobs.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Start } from "./options.ts";
import type { Receivers } from "./receivers.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** What the gateway does by itself from time to time. */
export type Background = ReturnType<typeof openBackground>;

/** In a line of the log. */
const MAX_NAMED = 20;

export function openBackground(
  start: Start,
  made: Storage & Capacity & Tenancy & Subscribers & Delivery & Acceptance & Receivers,
) {
  const { config, logFault, parts } = start;
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
      ...plugins.jobs,
    ],
    onFault: logFault,
  });
  parts.add(() => jobs.stop());
  // Before the jobs: one of them may wait for its answer.
  parts.add(() => plugins.close());
  return { rotation, jobs };
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
      logger.info({ subscription_id: id, subscription: name, trigger }, "a new secret signs beside the old one"),
    onOverdue: (overdue) =>
      logger.warn(
        { count: overdue.length, subscriptions: overdue.slice(0, MAX_NAMED).map(({ name }) => name) },
        "secrets are too old, and nobody would be told of new ones: rotate them, or subscribe to webhook.secret_rotating",
      ),
  });
}
