import { loadOrCreateMasterKey } from "../registry/key-files.ts";
import { createQuotaGate } from "../operate/quotas.ts";
import { createRetentionTimes } from "../operate/retention.ts";
import { openKeys } from "../registry/keys.ts";
import { createRegistry } from "../registry/registry.ts";
import { createSecretBox } from "../registry/secret-box.ts";
import { openTenants } from "../registry/tenants.ts";
import type { MutualParts } from "./mutual-parts.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";

/** Whose things they are, who may do what, and how much of it. */
export type Tenancy = Awaited<ReturnType<typeof openTenancy>>;

export async function openTenancy({ config, logFault, parts }: Start, storage: Storage, later: () => MutualParts) {
  const { store, clock, createId } = storage;
  const secretBox = createSecretBox(config.masterKey ?? loadOrCreateMasterKey(config.dataDir));
  const registry = createRegistry({ records: store.records, clock });
  const keys = await openKeys({
    registry,
    clock,
    createId,
    adminKey: config.adminKey,
    maxKeysPerTenant: config.limits.maxKeysPerTenant,
  });
  const quotas = createQuotaGate({ store, clock, onFault: logFault });
  parts.add(() => quotas.stop());
  const retention = createRetentionTimes(config.retention);
  const tenants = await openTenants({
    registry,
    store,
    clock,
    countLiveKeys: keys.countLive,
    countSubscriptions: (draft, id) => later().subscriptions.count(draft, id),
    onChange(changes) {
      retention.update(changes);
      return quotas.update(changes);
    },
  });
  return { secretBox, registry, keys, quotas, retention, tenants };
}
