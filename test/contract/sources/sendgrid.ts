import { createPrivateKey, createPublicKey, sign as signBytes } from "node:crypto";
import { sendgrid } from "../../../src/sources/sendgrid.ts";
import { SERVER_PAIR } from "../../support/certificates.ts";
import { JSON_TYPE, arrive, settingsOf, type SourceFixture } from "../source-fixture.ts";

const KEY = createPrivateKey(SERVER_PAIR.key);
const PUBLIC_KEY = createPublicKey(KEY).export({ format: "der", type: "spki" }).toString("base64");
const BODY = Buffer.from(
  '[{"email":"a@example.com","event":"delivered","sg_event_id":"ZHJvcC0xMDk5NDkxOS1M","timestamp":1781524799, "big": 12345678901234567890},\r\n' +
    ' {"email":"b@example.com","event":"group_unsubscribe","sg_event_id":"second","timestamp":1781524799}]\r\n',
);

export const fixture: SourceFixture = {
  kind: sendgrid,
  settings: settingsOf("sendgrid", [PUBLIC_KEY], { tolerance_s: 3600 }),
  sign: (at, body = BODY) => {
    const time = String(Math.floor(at / 1000));
    const signature = signBytes("sha256", Buffer.concat([Buffer.from(time), body]), KEY).toString("base64");
    return arrive("sendgrid", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "x-twilio-email-event-webhook-timestamp": time,
        "x-twilio-email-event-webhook-signature": signature,
      },
    });
  },
  expected: { type: "sendgrid.delivered", identity: "ZHJvcC0xMDk5NDkxOS1M" },
  toleranceMs: 3_600_000,
  coversBody: true,
  signatureHeaders: ["x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp"],
};
