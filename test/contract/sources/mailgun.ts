import { createHmac } from "node:crypto";
import { mailgun } from "../../../src/sources/mailgun.ts";
import { JSON_TYPE, arrive, json, settingsOf, withBody, type SourceFixture } from "../source-fixture.ts";

const SECRET = "key-0123456789abcdef";
const TOKEN = "7a8ff7dc1c1d85e0ab3c7b3bc8ba71c2fb1a3c1d8bb28bd9f9";

export const fixture: SourceFixture = {
  kind: mailgun,
  settings: settingsOf("mailgun", [SECRET]),
  sign: (at) => {
    const timestamp = String(Math.floor(at / 1000));
    return signedAs(at, { timestamp, token: TOKEN, signature: signatureOf(timestamp, TOKEN) });
  },
  expected: { type: "mailgun.delivered", identity: TOKEN },
  toleranceMs: 86_400_000,
  coversBody: false,
  forgeries: [
    {
      name: "a token that lent its first digit to the time",
      request: (at) => {
        const timestamp = String(Math.floor(at / 1000));
        const signature = signatureOf(timestamp, TOKEN);
        return signedAs(at, { timestamp: timestamp + TOKEN[0], token: TOKEN.slice(1), signature });
      },
    },
    { name: "another signature", request: (at) => signedWith(at, signatureOf("1781524800", "another")) },
    { name: "a signature that is too short", request: (at) => signedWith(at, signatureOf("1", TOKEN).slice(1)) },
    { name: "no signature", request: (at) => withBody(fixture.sign(at), json({ "event-data": { event: "opened" } })) },
  ],
};

function signatureOf(timestamp: string, token: string): string {
  return createHmac("sha256", SECRET)
    .update(timestamp + token)
    .digest("hex");
}

function signedWith(at: number, signature: string) {
  return signedAs(at, { timestamp: String(Math.floor(at / 1000)), token: TOKEN, signature });
}

function signedAs(at: number, signature: Record<string, string>) {
  const body = json({
    signature,
    "event-data": { event: "delivered", timestamp: 1_781_524_799.75, id: "CPgfbmQMTCKtHW6uIWtuVe" },
  });
  return arrive("mailgun", { at, body, headers: JSON_TYPE });
}
