import { describe } from "vitest";
import { acceptContract } from "./store/accept.ts";
import { actsContract } from "./store/acts.ts";
import { attemptStatsContract } from "./store/attempt-stats.ts";
import { commitsContract } from "./store/commits.ts";
import { conservationContract } from "./store/conservation.ts";
import type { StoreHarness } from "./store/harness.ts";
import { idempotencyKeysContract } from "./store/idempotency-keys.ts";
import { heldContract } from "./store/held.ts";
import { jobsContract } from "./store/jobs.ts";
import { laneContract } from "./store/lanes.ts";
import { lifeContract } from "./store/life.ts";
import { orderContract } from "./store/order.ts";
import { readsContract } from "./store/reads.ts";
import { recordsContract } from "./store/records.ts";
import { replaysContract } from "./store/replays.ts";
import { requestsContract } from "./store/requests.ts";
import { retentionContract } from "./store/retention.ts";
import { searchContract } from "./store/search.ts";
import { settleContract } from "./store/settle.ts";
import { tenantContract } from "./store/tenants.ts";

/** What every driver of the store promises, whatever it is made of. */
export function storeContract(name: string, harness: StoreHarness): void {
  describe(`the store contract: ${name}`, () => {
    acceptContract(harness);
    laneContract(harness);
    orderContract(harness);
    settleContract(harness);
    actsContract(harness);
    heldContract(harness);
    commitsContract(harness);
    conservationContract(harness);
    lifeContract(harness);
    recordsContract(harness);
    jobsContract(harness);
    attemptStatsContract(harness);
    idempotencyKeysContract(harness);
    readsContract(harness);
    replaysContract(harness);
    retentionContract(harness);
    searchContract(harness);
    tenantContract(harness);
    requestsContract(harness);
  });
}
