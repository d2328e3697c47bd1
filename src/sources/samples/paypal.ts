import type { Sample } from "./sample.ts";

export const paypal: Sample = {
  kind: "paypal",
  needsSecret: false,
  events: {},
  unsignable:
    "PayPal signs with a certificate of its own. Make a test payment in the sandbox instead; " +
    "the webhook simulator sends requests that cannot be verified.",
};
