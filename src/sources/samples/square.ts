import { hmacOf, wholeSeconds, type Sample, type SampleFacts } from "./sample.ts";

const told = (type: string) => {
  return ({ at, id }: SampleFacts) => ({
    body: { merchant_id: "6SSW7HV8K2ST5", type, event_id: id, created_at: wholeSeconds(at), data: { type: "payment" } },
  });
};

export const square: Sample = {
  kind: "square",
  needsSecret: true,
  events: { "payment.created": told("payment.created"), "refund.created": told("refund.created") },
  sign: ({ url, body }, { secret }) => ({
    headers: { "x-square-hmacsha256-signature": hmacOf("sha256", secret, [url, body], "base64") },
  }),
};
