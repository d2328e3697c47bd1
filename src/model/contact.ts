import { Type, type Static } from "typebox";
import type { GATEWAY_EVENT_TYPES } from "./pattern.ts";
import { parseUrl } from "./parse-url.ts";
import { oneOf, withDefault } from "./shape.ts";

/** The topics that a contact can subscribe to, each with its event types. */
export const CONTACT_TOPICS = {
  suspended: ["webhook.suspended"],
  failing: ["webhook.failing"],
  rotation: ["webhook.secret_rotating"],
  alerts: ["alert.fired", "alert.cleared"],
} as const satisfies Readonly<Record<string, readonly (typeof GATEWAY_EVENT_TYPES)[number][]>>;

export type ContactTopic = keyof typeof CONTACT_TOPICS;
const TOPICS = Object.keys(CONTACT_TOPICS) as ContactTopic[];
const USUAL_TOPICS = ["suspended", "failing", "rotation"] as const satisfies readonly ContactTopic[];

export const EmailAddress = Type.String({
  maxLength: 254,
  pattern: "^[^\\u0000-\\u0020\\u007f@]{1,64}@[^\\u0000-\\u0020\\u007f@]{1,189}$",
});

/** A contact of a tenant: exactly one of email, phone and url. */
export const ContactInput = Type.Object(
  {
    email: Type.Optional(Type.With(EmailAddress, { description: "An e-mail address", examples: ["ops@acme.example"] })),
    phone: Type.Optional(
      Type.String({
        pattern: "^\\+[1-9][0-9]{5,14}$",
        description: "A phone number with its country code; needs the gateway's SMS settings",
      }),
    ),
    url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: "The URL that events are posted to" }),
    ),
    about: withDefault(
      Type.Array(oneOf(TOPICS), {
        minItems: 1,
        maxItems: TOPICS.length,
        uniqueItems: true,
        description:
          "What the contact is notified of: suspended or failing subscriptions, rotated secrets, alerts of the tenant",
      }),
      [...USUAL_TOPICS] as ContactTopic[],
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type ContactInput = Static<typeof ContactInput>;

export type ContactWay = "email" | "phone" | "url";

export interface Contact {
  readonly way: ContactWay;
  readonly address: string;
  readonly about: readonly ContactTopic[];
}

/** Undefined unless exactly one way is given. */
export function toContact({ about = [...USUAL_TOPICS], ...ways }: ContactInput): Contact | undefined {
  const given = Object.entries(ways).filter(([, address]) => address !== undefined) as [ContactWay, string][];
  const [only] = given;
  return only === undefined || given.length > 1 ? undefined : { way: only[0], address: only[1], about };
}

/** All contacts of a tenant, `contact_email` included. */
export function listContacts(tenant: {
  contactEmail: string | undefined;
  contacts: readonly ContactInput[];
}): readonly Contact[] {
  const inputs = [...(tenant.contactEmail === undefined ? [] : [{ email: tenant.contactEmail }]), ...tenant.contacts];
  const contacts = new Map<string, Contact>();
  for (const input of inputs) {
    const contact = toContact(input);
    if (contact !== undefined) contacts.set(`${contact.way} ${contact.address}`, contact);
  }
  return [...contacts.values()];
}

/** Enough to recognise a contact in the log, and too little to write to it. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf("@");
  if (at > 0 && !address.includes("/")) return `${address[0] ?? ""}***${address.slice(at)}`;
  return address.startsWith("+") ? `***${address.slice(-3)}` : (parseUrl(address)?.origin ?? "***");
}
