import { GENERIC } from "../../../src/sources/generic.ts";
import type { SourceFixture } from "../source-fixture.ts";

export const fixture: SourceFixture = {
  kind: GENERIC,
  settings: { source: "any", secrets: [], options: {} },
  sign: (at, body = Buffer.from("{}")) => ({
    method: "POST",
    path: "/webhook/any",
    query: "",
    headers: { "content-type": "application/json" },
    body,
    receivedAt: at,
    url: "https://hooks.example/webhook/any",
  }),
  expected: { type: "webhook.any", identity: undefined },
  coversBody: false,
};
