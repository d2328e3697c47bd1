import { describe } from "vitest";
import { auditContract } from "./store/audit.ts";
import { commitsContract } from "./store/commits.ts";
import { acceptContract } from "./store/event-log/accept.ts";
import { messagesContract } from "./store/event-log/messages.ts";
import { requestsContract } from "./store/event-log/requests.ts";
import type { StoreHarness } from "./store/harness.ts";
import { attemptStatsContract } from "./store/jobs/attempt-stats.ts";
import { periodicJobsContract } from "./store/jobs/periodic.ts";
import { replaysContract } from "./store/jobs/replays.ts";
import { retentionContract } from "./store/jobs/retention.ts";
import { tenantErasureContract } from "./store/jobs/tenant-erasure.ts";
import { changesContract } from "./store/lanes/changes.ts";
import { claimContract } from "./store/lanes/claim.ts";
import { heldContract } from "./store/lanes/held.ts";
import { moveContract } from "./store/lanes/move.ts";
import { orderContract } from "./store/lanes/order.ts";
import { settleContract } from "./store/lanes/settle.ts";
import { lifeContract } from "./store/life.ts";
import { countersContract } from "./store/reads/counters.ts";
import { laneReadsContract } from "./store/reads/lane-reads.ts";
import { listsContract } from "./store/reads/lists.ts";
import { logContract } from "./store/reads/log.ts";
import { searchContract } from "./store/reads/search.ts";
import { walksContract } from "./store/reads/walks.ts";
import { idempotencyMarksContract } from "./store/records/idempotency-marks.ts";
import { tenantsContract } from "./store/records/tenants.ts";
import { versionsContract } from "./store/records/versions.ts";

/** What every driver of the store promises, whatever it is made of: port by port, and as a whole. */
export function storeContract(name: string, harness: StoreHarness): void {
  describe(`the store contract: ${name}`, () => {
    describe("the event log", () => {
      acceptContract(harness);
      messagesContract(harness);
      requestsContract(harness);
    });
    describe("lanes", () => {
      claimContract(harness);
      orderContract(harness);
      settleContract(harness);
      changesContract(harness);
      heldContract(harness);
      moveContract(harness);
    });
    describe("records", () => {
      versionsContract(harness);
      idempotencyMarksContract(harness);
      tenantsContract(harness);
    });
    describe("reads", () => {
      listsContract(harness);
      searchContract(harness);
      logContract(harness);
      countersContract(harness);
      laneReadsContract(harness);
      walksContract(harness);
    });
    describe("jobs", () => {
      periodicJobsContract(harness);
      replaysContract(harness);
      attemptStatsContract(harness);
      retentionContract(harness);
      tenantErasureContract(harness);
    });
    auditContract(harness);
    describe("the whole", () => {
      commitsContract(harness);
      lifeContract(harness);
    });
  });
}
