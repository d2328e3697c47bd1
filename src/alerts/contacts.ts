import {
  addressIn,
  CONTACT_NAME_PREFIX,
  CONTACT_TOPICS,
  listContacts,
  maskAddress,
  type Contact,
  type Tenant,
} from "../model/tenant.ts";
import type { SubscriptionInput } from "../model/subscription.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { TenantChange } from "../resources/tenants.ts";
import type { SubscriptionLanes } from "../resources/subscriptions/subscription-lanes.ts";
import { addTexts } from "../model/alert.ts";

/** The creator of contacts' subscriptions. */
const CONTACT = "contact";

interface ContactUses {
  subscriptions: Pick<Subscriptions, "list" | "applyContacts">;
  lanes: Pick<SubscriptionLanes, "remove">;
}

/** Keeps the subscriptions of tenants' contacts in line with the tenants. */
export function createContacts(options: {
  /** The current settings for sending SMS. */
  findSms: () => SmsSettings;
  /** Called for a contact that cannot be notified, with its masked address and the reason. */
  onUnreachable: (tenantId: string, address: string, reason: string) => void;
  onFault: (error: unknown) => void;
}) {
  const { onUnreachable, onFault } = options;
  const tenants = new Map<string, Tenant>();
  let working: Promise<void> = Promise.resolve();
  /** Undefined until the start, and after the stop. */
  let uses: ContactUses | undefined;

  function wanted({ id, status, ...tenant }: Tenant): SubscriptionInput[] {
    if (status !== "active") return [];
    return listContacts(tenant).flatMap((contact) => {
      const input = toContactSubscription(id, contact, options.findSms());
      if (input !== undefined) return [input];
      onUnreachable(
        id,
        maskAddress(contact.address),
        "alerts.channels has no channel of the kind sms, whose settings would be used",
      );
      return [];
    });
  }

  /** Each contact separately: a rejected one does not affect the others. */
  async function reconcile(tenantId: string, { subscriptions, lanes }: ContactUses): Promise<void> {
    const tenant = tenants.get(tenantId);
    // They are erased with the rest of the tenant.
    if (tenant?.isErasing === true) return;
    const inputs = tenant === undefined ? [] : wanted(tenant);
    await subscriptions.applyContacts(tenantId, inputs, (name, error) =>
      onUnreachable(tenantId, maskAddress(addressIn(name)), error instanceof Error ? error.message : String(error)),
    );
    const left = subscriptions
      .list(tenantId)
      .filter(({ createdBy, managedBy }) => createdBy === CONTACT && managedBy !== CONTACT);
    for (const one of left) await lanes.remove(one);
  }

  /** Not awaited by the change of a tenant, because changes of subscriptions wait for that change. */
  function reconcileSoon(ids: readonly string[], by: ContactUses): void {
    working = working.then(async () => {
      for (const id of ids) await reconcile(id, by).catch(onFault);
    });
  }

  return {
    /** Called when tenants have changed; before `start` the change is only remembered. */
    take(changes: readonly TenantChange[]): void {
      for (const { id, tenant } of changes) {
        if (tenant === undefined) tenants.delete(id);
        else tenants.set(id, tenant);
      }
      const ids = changes.map(({ id }) => id);
      if (uses !== undefined) reconcileSoon(ids, uses);
    },
    /** Resolves when the subscriptions match the tenants. May be called again when settings have changed. */
    async start(given: ContactUses): Promise<void> {
      uses = given;
      const had = given.subscriptions.list(undefined).filter(({ createdBy }) => createdBy === CONTACT);
      const have = [...tenants.values()].filter((tenant) => listContacts(tenant).length > 0);
      reconcileSoon([...new Set([...had.map(({ tenantId }) => tenantId), ...have.map(({ id }) => id)])], given);
      await working;
    },
    async stop(): Promise<void> {
      uses = undefined;
      await working;
    },
  };
}

/** The settings of the kind sms, without recipient and text; undefined when none are set. */
type SmsSettings = Readonly<Record<string, unknown>> | undefined;

/** The subscription that notifies a contact of a tenant; undefined when there is no way to reach the contact. */
function toContactSubscription(
  tenantId: string,
  { way, address, about }: Contact,
  sms: SmsSettings,
): SubscriptionInput | undefined {
  const destination = toDestination(way, address, sms);
  if (destination === undefined) return undefined;
  return addTexts({
    name: `${CONTACT_NAME_PREFIX}${address}`.slice(0, 200),
    tenant_id: tenantId,
    description: "A contact of the tenant; change it at the tenant",
    events: about.flatMap((topic) => CONTACT_TOPICS[topic]),
    ...destination,
  });
}

function toDestination(
  way: Contact["way"],
  address: string,
  sms: SmsSettings,
): Pick<SubscriptionInput, "kind" | "destination"> | { url: string } | undefined {
  switch (way) {
    case "url":
      return { url: address };
    case "email":
      return { kind: "email", destination: { to: address } };
    case "phone":
      return sms && { kind: "sms", destination: { ...sms, to: address } };
  }
}
