import { hmacOf, unixSeconds, type Sample, type SampleFacts, type UnsignedSample } from "./sample.ts";

const told = (type: string) => {
  return ({ at }: SampleFacts) => ({ body: { type, timestamp: new Date(at).toISOString(), data: { id: "1f81eb52" } } });
};

/** https://www.standardwebhooks.com: the key are the bytes behind the prefix. */
export function signStandard({ at, id, body }: UnsignedSample, secret: string): Record<string, string> {
  const time = unixSeconds(at);
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = hmacOf("sha256", key, [`${id}.${time}.`, body], "base64");
  return { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": `v1,${signature}` };
}

export const standardWebhooks: Sample = {
  kind: "standard-webhooks",
  needsSecret: true,
  events: { "contact.created": told("contact.created"), "invoice.paid": told("invoice.paid") },
  sign: (request, { secret }) => ({ headers: signStandard(request, secret) }),
};
