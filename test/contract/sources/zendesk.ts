import { zendesk } from "../../../src/sources/zendesk.ts";
import { zendesk as sample } from "../../../src/sources/samples/zendesk.ts";
import { JSON_TYPE, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==";
const BODY = json({
  id: "01",
  type: "zen:event-type:ticket.created",
  time: "2026-06-15T11:59:59Z",
  detail: { id: "35" },
});

export const fixture: SourceFixture = {
  kind: zendesk,
  settings: settingsOf("zendesk", [SECRET]),
  sign: (at, body = BODY) =>
    arriveSigned(sample, "zendesk", SECRET, {
      at,
      body,
      headers: { ...JSON_TYPE, "x-zendesk-webhook-invocation-id": "01F1KRFQ6BG29CNWFR60NK5FNY" },
    }),
  expected: { type: "zendesk.ticket.created", identity: "01F1KRFQ6BG29CNWFR60NK5FNY" },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["x-zendesk-webhook-signature", "x-zendesk-webhook-signature-timestamp"],
};
