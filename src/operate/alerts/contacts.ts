import { listContacts } from "../../domain/contact.ts";
import type { SubscriptionInput } from "../../domain/subscription.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Subscriptions } from "../../registry/subscriptions/subscriptions.ts";
import type { TenantChange } from "../../registry/tenants.ts";
import type { SubscriptionLanes } from "../subscription-lanes.ts";
import { toContactSubscription, type SmsSettings } from "./contact-subscriptions.ts";

/** Keeps the subscriptions that contacts of tenants are told by as the tenants say. */
export interface Contacts {
  /** Tenants have changed; before `start` that is only remembered. */
  take(changes: readonly TenantChange[]): void;
  /** Resolves when the subscriptions are as the tenants say. May be called again when other settings hold. */
  start(): Promise<void>;
  /** Lets what is under way end. */
  stop(): Promise<void>;
}

export interface ContactsOptions {
  subscriptions: () => Pick<Subscriptions, "list" | "applyContacts">;
  lanes: () => Pick<SubscriptionLanes, "remove">;
  /** How short messages are sent, as it is set now. */
  findSms: () => SmsSettings;
  /** A contact that cannot be told anything, and why. */
  onUnreachable: (tenantId: string, address: string, reason: string) => void;
  onFault: (error: unknown) => void;
}

/** Who made the subscription of a contact. */
const CONTACT = "contact";

export function createContacts(options: ContactsOptions): Contacts {
  const { onUnreachable, onFault } = options;
  const tenants = new Map<string, Tenant>();
  let working: Promise<void> = Promise.resolve();
  let isStarted = false;

  function wanted({ id, status, ...tenant }: Tenant): SubscriptionInput[] {
    if (status !== "active") return [];
    return listContacts(tenant).flatMap((contact) => {
      const input = toContactSubscription(id, contact, options.findSms());
      if (input !== undefined) return [input];
      onUnreachable(id, contact.address, "alerts.channels has none of the kind sms, whose gateway would be used");
      return [];
    });
  }

  /** Each by itself: one that is refused keeps nobody else from being told. */
  async function reconcile(tenantId: string): Promise<void> {
    const tenant = tenants.get(tenantId);
    // They go with the rest of the tenant.
    if (tenant?.isErasing === true) return;
    const inputs = tenant === undefined ? [] : wanted(tenant);
    const subscriptions = options.subscriptions();
    await subscriptions.applyContacts(tenantId, inputs, (name, error) =>
      onUnreachable(tenantId, name, error instanceof Error ? error.message : String(error)),
    );
    const left = subscriptions
      .list(tenantId)
      .filter(({ createdBy, managedBy }) => createdBy === CONTACT && managedBy !== CONTACT);
    for (const one of left) await options.lanes().remove(one);
  }

  /** Not awaited by whoever changes a tenant: a change of subscriptions waits for that. */
  function reconcileSoon(ids: readonly string[]): void {
    working = working.then(async () => {
      for (const id of ids) await reconcile(id).catch(onFault);
    });
  }

  return {
    take(changes) {
      for (const { id, tenant } of changes) {
        if (tenant === undefined) tenants.delete(id);
        else tenants.set(id, tenant);
      }
      if (isStarted) reconcileSoon(changes.map(({ id }) => id));
    },
    async start() {
      isStarted = true;
      const had = options
        .subscriptions()
        .list(undefined)
        .filter(({ createdBy }) => createdBy === CONTACT);
      const have = [...tenants.values()].filter((tenant) => listContacts(tenant).length > 0);
      reconcileSoon([...new Set([...had.map(({ tenantId }) => tenantId), ...have.map(({ id }) => id)])]);
      await working;
    },
    async stop() {
      isStarted = false;
      await working;
    },
  };
}
