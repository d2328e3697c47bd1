import { getExpectedTwilioSignature } from "twilio";
import { twilio } from "../../../src/sources/twilio.ts";
import { arrive, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "12345678901234567890123456789012";
const BODY = Buffer.from(
  "ToCountry=DE&SmsStatus=received&Body=Gr%C3%BC%C3%9Fe+%26+more&MessageSid=SM1&MediaUrl=b&MediaUrl=a&MediaUrl=b",
);

export const fixture: SourceFixture = {
  kind: twilio,
  settings: settingsOf("twilio", [SECRET]),
  sign: (at, body = BODY) => {
    const unsigned = arrive("twilio", { at, body, headers: {}, query: "foo=1&bar=it's" });
    const fields: Record<string, string | string[]> = {};
    const form = new URLSearchParams(body.toString());
    for (const name of form.keys()) fields[name] = form.getAll(name);
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      "i-twilio-idempotency-token": "f7be8ac6-ac77-4ee5-9b12-9f7ae8d24ed7",
      "x-twilio-signature": getExpectedTwilioSignature(SECRET, unsigned.url, fields),
    };
    return { ...unsigned, headers };
  },
  expected: { type: "twilio.message.received", identity: "f7be8ac6-ac77-4ee5-9b12-9f7ae8d24ed7" },
  coversBody: true,
  signatureHeaders: ["x-twilio-signature"],
};
