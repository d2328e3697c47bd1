import { createBodyErasures } from "../jobs/body-erasure.ts";
import { createBulkReplays } from "../replays/bulk-replays.ts";
import { createReplayRunner } from "../replays/replay-runner.ts";
import { createReplays } from "../replays/replays.ts";
import { createResume } from "../replays/resume.ts";
import { createTestDeliveries } from "../replays/test-delivery.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Capacity } from "./capacity.ts";
import type { Sending } from "./delivery.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";
import type { Subscribers } from "./subscribers.ts";

/** What people do with deliveries: replay, cancel, resume, test. */
export type Acts = ReturnType<typeof openActs>;

/** When the event loop lags by more than this, replays wait. */
const BUSY_LAG_MS = 50;

export function openActs(
  { logger, logFault }: Start,
  made: Storage & Capacity & Tenancy & Subscribers & Sending & Acceptance,
) {
  const { store, clock, authors, trail, createId, loopLag, subscriptions, scheduler, ingest, failureEvents } = made;
  const touched = {
    store,
    subscriptions,
    clock,
    authors,
    onDue: (subscription: Parameters<typeof scheduler.notePending>[0]) =>
      scheduler.notePending(subscription, clock.now()),
    onCancelled: scheduler.withdraw,
  };
  const replayRunner = createReplayRunner({
    ...touched,
    isBusy: () => loopLag.lagMs > BUSY_LAG_MS,
    onFault: logFault,
    onEnd: ({ id, kind, status, done, skipped, failed, error }) =>
      logger.info({ replay_id: id, kind, status, done, skipped, failed, error }, "a replay has ended"),
  });
  return {
    replays: createReplays(touched),
    bodyErasures: createBodyErasures(touched),
    replayRunner,
    bulkReplays: createBulkReplays({ store, subscriptions, runner: replayRunner, clock, authors, createId }),
    tests: createTestDeliveries({ store, accept: ingest.accept, clock, createId }),
    resume: createResume({ store, subscriptions, findMode: scheduler.findMode, failureEvents, trail }),
  };
}
