import { Webhook } from "svix";
import { standardWebhooks } from "../../../src/sources/standard-webhooks.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = json({ type: "user.created", data: { id: "user_29w83sxmDNGwOuEthce5gg56FcC" } });

/** The same kind by the headers that Svix sends. */
export const fixture: SourceFixture = {
  kind: standardWebhooks,
  settings: settingsOf("svix", [SECRET]),
  sign: (at, body = BODY) =>
    arrive("svix", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "svix-timestamp": String(Math.floor(at / 1000)),
        "svix-signature": new Webhook(SECRET).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", new Date(at), body),
      },
    }),
  expected: { type: "standard-webhooks.user.created", identity: "msg_p5jXN8AQM9LWM0D4loKWxJek" },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["svix-id", "svix-timestamp", "svix-signature"],
};
