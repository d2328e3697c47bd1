import { apiKey } from "../../../src/sources/api-key.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "k-1234567890abcdef";

export const fixture: SourceFixture = {
  kind: apiKey,
  settings: settingsOf("keyed", [SECRET], { header: "X-Shared-Key" }),
  sign: (at, body = json({ id: 1 })) =>
    arrive("keyed", { at, body, headers: { ...JSON_TYPE, "x-shared-key": SECRET } }),
  expected: { type: "webhook.keyed", identity: undefined },
  coversBody: false,
  signatureHeaders: ["x-shared-key"],
};
