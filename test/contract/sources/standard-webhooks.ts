import { Webhook } from "standardwebhooks";
import { standardWebhooks } from "../../../src/sources/standard-webhooks.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY = json({ type: "contact.created", timestamp: "2026-06-15T11:59:58.5Z", data: { id: "1f81eb52" } });

export const fixture: SourceFixture = {
  kind: standardWebhooks,
  settings: settingsOf("standard", [SECRET]),
  sign: (at, body = BODY) =>
    arrive("standard", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "webhook-id": "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W",
        "webhook-timestamp": String(Math.floor(at / 1000)),
        "webhook-signature": new Webhook(SECRET).sign("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", new Date(at), body),
      },
    }),
  expected: { type: "standard-webhooks.contact.created", identity: "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W" },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["webhook-id", "webhook-timestamp", "webhook-signature"],
};
