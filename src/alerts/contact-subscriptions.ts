import { CONTACT_TOPICS, maskAddress, type Contact } from "../model/contact.ts";
import type { Subscription, SubscriptionInput } from "../model/subscription.ts";
import { addTexts } from "../model/notice-texts.ts";

/** The settings of the kind sms, without recipient and text; undefined when none are set. */
export type SmsSettings = Readonly<Record<string, unknown>> | undefined;

/** The subscription that notifies a contact of a tenant; undefined when there is no way to reach the contact. */
export function toContactSubscription(
  tenantId: string,
  { way, address, about }: Contact,
  sms: SmsSettings,
): SubscriptionInput | undefined {
  const destination = toDestination(way, address, sms);
  if (destination === undefined) return undefined;
  return addTexts({
    name: `${NAME_PREFIX}${address}`.slice(0, 200),
    tenant_id: tenantId,
    description: "A contact of the tenant; change it at the tenant",
    events: about.flatMap((topic) => CONTACT_TOPICS[topic]),
    ...destination,
  });
}

const NAME_PREFIX = "contact: ";

/** The address in the name of a contact's subscription. */
export function addressIn(name: string): string {
  return name.slice(NAME_PREFIX.length);
}

/** The log may be read by more people than may know the address of a contact. */
export function nameForLog({ name, managedBy }: Pick<Subscription, "name" | "managedBy">): string {
  return managedBy === "contact" ? `${NAME_PREFIX}${maskAddress(addressIn(name))}` : name;
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
