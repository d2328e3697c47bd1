import { hmacOf, unixSeconds, type Sample, type SampleFacts } from "./sample.ts";

const told = (type: string, object: object) => {
  return ({ at, id }: SampleFacts) => ({
    body: {
      id: `evt_${id.replaceAll("-", "").slice(0, 24)}`,
      object: "event",
      type,
      created: Math.floor(at / 1000),
      livemode: false,
      data: { object },
    },
  });
};

export const stripe: Sample = {
  kind: "stripe",
  needsSecret: true,
  events: {
    "invoice.paid": told("invoice.paid", { id: "in_1MtHbELkdIwHu7ix", object: "invoice", amount_paid: 1099 }),
    "checkout.session.completed": told("checkout.session.completed", { id: "cs_test_1", object: "checkout.session" }),
    "payment_intent.succeeded": told("payment_intent.succeeded", { id: "pi_3MtwBwLkdIwHu7ix", amount: 2000 }),
  },
  sign({ at, body }, { secret }) {
    const time = unixSeconds(at);
    return { headers: { "stripe-signature": `t=${time},v1=${hmacOf("sha256", secret, [`${time}.`, body], "hex")}` } };
  },
};
