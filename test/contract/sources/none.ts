import { none } from "../../../src/sources/generic.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

export const fixture: SourceFixture = {
  kind: none,
  settings: settingsOf("open", []),
  sign: (at, body = json({ id: 1 })) => arrive("open", { at, body, headers: JSON_TYPE }),
  expected: { type: "webhook.open", identity: undefined },
  coversBody: false,
};
