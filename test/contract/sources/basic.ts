import { basic } from "../../../src/sources/basic.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "Aladdin:open sesame, ünd mehr";

export const fixture: SourceFixture = {
  kind: basic,
  settings: settingsOf("basic", [SECRET]),
  sign: (at, body = json({ id: 1 })) =>
    arrive("basic", {
      at,
      body,
      headers: { ...JSON_TYPE, authorization: `Basic ${Buffer.from(SECRET).toString("base64")}` },
    }),
  expected: { type: "webhook.basic", identity: undefined },
  coversBody: false,
  signatureHeaders: ["authorization"],
};
