import { findSmsSettings } from "../model/alert.ts";
import { createContacts } from "../alerts/contacts.ts";
import { createAuditKey, deriveAuditSeed } from "../model/audit.ts";
import { createAuditTrail } from "../resources/audit-trail.ts";
import { createAuthors } from "../resources/authors.ts";
import { createQuotaGate } from "../accept/quotas.ts";
import { createRetentionTimes } from "../jobs/retention.ts";
import { openKeys } from "../resources/keys.ts";
import { openPassRecords } from "../resources/pass-records.ts";
import { createRegistry } from "../resources/registry.ts";
import { createSecretBox } from "../resources/secret-box.ts";
import { openTenants } from "../resources/tenants.ts";
import type { MutualParts } from "./mutual-parts.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";

/** Tenants, keys and quotas. */
export type Tenancy = Awaited<ReturnType<typeof openTenancy>>;

export async function openTenancy(start: Start, storage: Storage, later: () => MutualParts) {
  const { config, logFault, parts } = start;
  const { store, clock, createId } = storage;
  const secretBox = createSecretBox(storage.masterKey);
  const authors = createAuthors();
  const key = createAuditKey(deriveAuditSeed(storage.masterKey));
  const trail = createAuditTrail({ store, authors, clock, key });
  const registry = createRegistry({ records: store.records, clock, authors });
  const keys = await openKeys({
    registry,
    clock,
    createId,
    adminKey: config.adminKey,
    maxKeysPerTenant: config.limits.maxKeysPerTenant,
  });
  const passRecords = await openPassRecords({ registry, authors, clock });
  const quotas = createQuotaGate({ store, clock, onFault: logFault });
  parts.add(() => quotas.stop());
  const retention = createRetentionTimes(config.retention);
  const { contacts, setChannels } = openContacts(start, later);
  const tenants = await openTenants({
    registry,
    store,
    clock,
    countLiveKeys: keys.countLive,
    countSubscriptions: (draft, id) => later().subscriptions.count(draft, id),
    onChange(changes) {
      retention.update(changes);
      contacts.take(changes);
      return quotas.update(changes);
    },
  });
  return { secretBox, authors, trail, registry, keys, passRecords, quotas, retention, tenants, contacts, setChannels };
}

function openContacts({ config, logger, logFault, parts }: Start, later: () => MutualParts) {
  let { channels } = config.alerts;
  const contacts = createContacts({
    subscriptions: () => later().subscriptions,
    lanes: () => later().subscriptionLanes,
    findSms: () => findSmsSettings(channels),
    onUnreachable: (tenant_id, contact, reason) =>
      logger.warn({ tenant_id, contact, reason }, "a contact cannot be told anything"),
    onFault: logFault,
  });
  parts.add(() => contacts.stop());
  return {
    contacts,
    setChannels(given: typeof channels) {
      channels = given;
    },
  };
}
