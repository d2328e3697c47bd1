import { hashOf } from "../../../src/sources/request-reading.ts";
import { meta } from "../../../src/sources/meta.ts";
import { JSON_TYPE, SIGNED_AT, arrive, arriveSigned, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const BODY = Buffer.from(
  '{"object":"whatsapp_business_account","entry":[{"id":"8856996819413533","time":1781524799,"name":"\\u00e4"}]}',
);

export const fixture: SourceFixture = {
  kind: meta,
  settings: settingsOf("meta", [SECRET], { verify_token: "meaty hamburgers" }),
  sign: (at, body = BODY) => arriveSigned(meta, "meta", SECRET, { at, body, headers: JSON_TYPE }),
  expected: { type: "meta.whatsapp_business_account", identity: hashOf(BODY) },
  handshakes: [
    {
      request: arrive("meta", {
        at: SIGNED_AT,
        method: "GET",
        query: "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meaty+hamburgers",
        headers: {},
      }),
      answer: {
        status: 200,
        headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
        body: "1158201444",
      },
    },
  ],
  coversBody: true,
  signatureHeaders: ["x-hub-signature-256"],
};
