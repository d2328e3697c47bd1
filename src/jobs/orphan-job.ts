import type { Clock } from "../model/clock.ts";
import { parseDeliveryId } from "../model/ids.ts";
import { DEFAULT_CONNECTION } from "../model/connection.ts";
import { isTerminal } from "../model/delivery.ts";
import { createClaimCheck, createOrphanSweep, type OrphanSweep } from "../queues/claim-check.ts";
import type { Connections } from "../queues/connections.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { Store } from "../store/store.ts";
import type { PeriodicJob } from "./jobs.ts";

const DELETE_ORPHANS = "delete-orphaned-bodies";

const DAY_MS = 86_400_000;
/** Longer than any reader needs between taking a message and reading its body. */
const ORPHAN_AGE_MS = 7 * DAY_MS;
const STEP = 500;
/** Limit of one run; the next one comes soon and does the rest. */
const MAX_LOOKED_AT = 20_000;
const AGAIN_MS = 600_000;

interface Sweep extends OrphanSweep {
  readonly container: string;
}

/** Deletes bodies in Blob storage whose messages no longer exist. */
export function createOrphanJob(options: {
  store: Pick<Store, "info" | "reads">;
  clock: Clock;
  subscriptions: Pick<Subscriptions, "list" | "settingsOf">;
  connections: Connections;
  onTrouble: (error: unknown, container: string) => void;
}): PeriodicJob {
  const { store, clock, subscriptions, connections, onTrouble } = options;
  /** Continues in the next run. */
  let sweeps: readonly Sweep[] = [];

  async function hasEnded(deliveryId: string): Promise<boolean> {
    const key = parseDeliveryId(deliveryId);
    const delivery = key && (await store.reads.findDelivery(key));
    return delivery === undefined || isTerminal(delivery.state);
  }

  /** One for each container in which subscriptions keep large bodies and whose connection is known. */
  function openSweeps(putBefore: number): Sweep[] {
    const opened = new Map<string, Sweep>();
    for (const subscription of subscriptions.list(undefined)) {
      const { claim_check: claim } = (subscriptions.settingsOf(subscription).destination ?? {}) as {
        claim_check?: { connection?: string; container: string } | null;
      };
      if (claim === undefined || claim === null) continue;
      const { connection = DEFAULT_CONNECTION, container } = claim;
      const account = connections.findAccount(connection);
      if (account === undefined) continue;
      const claims = createClaimCheck({ account, container, maxBytes: 0 });
      const sweep = createOrphanSweep({ putBefore, hasEnded, claims, connections, origin: store.info.id });
      opened.set(`${connection} ${container}`, { ...sweep, container });
    }
    return [...opened.values()];
  }

  return {
    name: DELETE_ORPHANS,
    description: "Deletes bodies in Blob storage that no message refers to any more",
    everyMs: DAY_MS,
    async run({ shouldStop }) {
      const summary = { deleted: 0, kept: 0, unreachable: 0 };
      if (sweeps.length === 0) sweeps = openSweeps(clock.wall() - ORPHAN_AGE_MS);
      let left = MAX_LOOKED_AT;
      while (sweeps.length > 0 && left > 0 && !shouldStop()) {
        const [sweep, ...others] = sweeps as [Sweep, ...Sweep[]];
        try {
          const { deleted, kept, isEnd } = await sweep.next(STEP);
          summary.deleted += deleted;
          summary.kept += kept;
          if (isEnd) sweeps = others;
        } catch (error) {
          onTrouble(error, sweep.container);
          summary.unreachable++;
          sweeps = others;
        }
        left -= STEP;
      }
      return { summary, ...(sweeps.length > 0 && { nextRunAt: clock.now() + AGAIN_MS }) };
    },
  };
}
