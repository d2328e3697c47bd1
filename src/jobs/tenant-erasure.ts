import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { DEFAULT_TENANT } from "../model/event.ts";
import type { ManagedBy } from "../model/subscription.ts";
import type { Authors } from "../resources/authors.ts";
import type { Registry } from "../resources/registry.ts";
import type { Sources } from "../resources/sources/sources.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { SharedTargets } from "../resources/targets.ts";
import type { Tenants } from "../resources/tenants.ts";
import type { ErasureRow } from "../store/port/jobs.ts";
import type { DeliveryKey } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import { createStepPace } from "./retention.ts";
import type { Validations } from "../resources/validations/validations.ts";

/** Erases all data of a tenant. Continues after restarts until it is done. */
export type TenantErasures = ReturnType<typeof createTenantErasures>;

const AGAIN_MS = 5000;

/** The author of the ended validations of its sources. */
const GATEWAY = "gateway";

export function createTenantErasures(options: {
  store: Pick<Store, "jobs">;
  clock: Clock;
  authors: Pick<Authors, "note">;
  registry: Pick<Registry, "follow">;
  tenants: Pick<Tenants, "get">;
  subscriptions: Pick<Subscriptions, "list">;
  sources: Pick<Sources, "list">;
  sharedTargets: Pick<SharedTargets, "list">;
  validations: Pick<Validations, "list" | "remove">;
  /** Stops sending copies that are in memory. */
  onCancelled: (key: DeliveryKey) => void;
  onEnd: (erasure: ErasureRow) => void;
  onFault: (error: unknown) => void;
}) {
  const { store, clock, registry, onFault } = options;
  const running = new Map<string, Promise<void>>();
  /** Called when the gateway stops: one for each erasure that is pausing. */
  const wakers = new Set<() => void>();
  let isStopped = false;
  const shouldStop = () => isStopped;

  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        timer.cancel();
        wakers.delete(wake);
        resolve();
      };
      const timer = clock.setTimer(clock.now() + ms, wake);
      wakers.add(wake);
    });
  }

  /** Validations also exist in a folder, which would bring them back. */
  async function removeValidations(tenantId: string): Promise<void> {
    const names = new Set(options.sources.list(tenantId).map(({ source }) => source.name));
    for (const { endpoint, format } of options.validations.list()) {
      if (names.has(endpoint)) await options.validations.remove(endpoint, format, GATEWAY);
    }
  }

  async function erase(tenantId: string): Promise<void> {
    await registry.follow();
    await removeValidations(tenantId);
    const pace = createStepPace(clock);
    while (!shouldStop()) {
      const calledAt = clock.now();
      const { row, ended, tookMs } = await store.jobs.stepErasure(tenantId, pace.maxRows);
      // Memory learns from the store what was deleted.
      if (row.stage === "records" || row.stage === "events" || row.stage === "done") await registry.follow();
      ended.forEach(options.onCancelled);
      if (row.stage === "done") return options.onEnd(row);
      await rest(pace.endStep(calledAt, tookMs));
    }
  }

  async function eraseToEnd(tenantId: string): Promise<void> {
    for (let isOver = false; !isOver && !shouldStop();) {
      isOver = await erase(tenantId).then(
        () => true,
        (error: unknown) => {
          if (!isStopped) onFault(error);
          return false;
        },
      );
      if (!isOver && !isStopped) await rest(AGAIN_MS);
    }
  }

  function run(tenantId: string): void {
    if (isStopped || running.has(tenantId)) return;
    running.set(
      tenantId,
      eraseToEnd(tenantId).finally(() => running.delete(tenantId)),
    );
  }

  /** At the next start, the file would bring back what it declares. */
  function rejectDeclared(tenantId: string, tenantIs: ManagedBy): void {
    const declared = [
      { noun: "tenant", name: tenantId, managedBy: tenantIs },
      ...options.subscriptions.list(tenantId).map(({ name, managedBy }) => ({ noun: "subscription", name, managedBy })),
      ...options.sources
        .list(tenantId)
        .map(({ source, managedBy }) => ({ noun: "source", name: source.name, managedBy })),
      ...options.sharedTargets
        .list()
        .filter(({ thing }) => thing.tenantId === tenantId)
        .map(({ thing: { input, managedBy } }) => ({ noun: "target", name: input.name, managedBy })),
    ].find(({ managedBy }) => managedBy === "config");
    if (declared === undefined) return;
    throw new PosthornError(
      "managed_by_config",
      `The ${declared.noun} ${declared.name} of this tenant is declared in the configuration file. Remove everything of ` +
        "the tenant from the file, reload it, and then erase the tenant.",
    );
  }

  return {
    /** From then on the tenant is inactive. Returns a running erasure; rejected when the file declares part of it. */
    async begin(tenantId: string): Promise<ErasureRow> {
      if (tenantId === DEFAULT_TENANT) {
        throw new PosthornError("conflict", "The tenant default always exists and cannot be erased.");
      }
      const { thing } = await options.tenants.get(tenantId);
      rejectDeclared(tenantId, thing.managedBy);
      const note = options.authors.note({ act: "tenant.begin_erasure", kind: "tenant", id: tenantId, tenantId });
      const row = await store.jobs.beginErasure(tenantId, note);
      // In force before the answer: no more events are accepted.
      await registry.follow();
      run(tenantId);
      return row;
    },
    async get(tenantId: string): Promise<ErasureRow> {
      const row = await store.jobs.findErasure(tenantId);
      if (row !== undefined) return row;
      throw new PosthornError("not_found", `The tenant ${tenantId} was never erased.`);
    },
    async start(): Promise<void> {
      for (const tenantId of await store.jobs.listErasing()) run(tenantId);
    },
    async stop(): Promise<void> {
      isStopped = true;
      for (const wake of wakers) wake();
      await Promise.all(running.values());
    },
  };
}
