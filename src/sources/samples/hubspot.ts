import { hmacOf, type Sample, type SampleFacts } from "./sample.ts";

const told = (subscriptionType: string) => {
  return ({ at }: SampleFacts) => ({
    body: [{ eventId: at, subscriptionId: 12_345, occurredAt: at, subscriptionType, attemptNumber: 0, objectId: 123 }],
  });
};

/** HubSpot signs these as they are, however the URL writes them. */
const WRITTEN_OUT = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi;

export const hubspot: Sample = {
  kind: "hubspot",
  needsSecret: true,
  events: { "contact.creation": told("contact.creation"), "contact.propertyChange": told("contact.propertyChange") },
  sign({ url, body, at }, { secret }) {
    const parts = ["POST", url.replace(WRITTEN_OUT, decodeURIComponent), body, String(at)];
    return {
      headers: {
        "x-hubspot-signature-v3": hmacOf("sha256", secret, parts, "base64"),
        "x-hubspot-request-timestamp": String(at),
      },
    };
  },
};
