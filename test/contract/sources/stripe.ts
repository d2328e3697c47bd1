import { Stripe } from "stripe";
import { stripe } from "../../../src/sources/stripe.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = json({
  id: "evt_1MqqbKLt4dXK03v5qaIbiNCC",
  object: "event",
  type: "invoice.paid",
  created: 1_781_524_800,
});

export const fixture: SourceFixture = {
  kind: stripe,
  settings: settingsOf("stripe", [SECRET]),
  sign: (at, body = BODY) =>
    arrive("stripe", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "stripe-signature": Stripe.webhooks.generateTestHeaderString({
          payload: body.toString(),
          secret: SECRET,
          timestamp: Math.floor(at / 1000),
        }),
      },
    }),
  expected: { type: "stripe.invoice.paid", identity: "evt_1MqqbKLt4dXK03v5qaIbiNCC" },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["stripe-signature"],
};
