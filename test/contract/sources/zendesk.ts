import { zendesk } from "../../../src/sources/zendesk.ts";
import { EXAMPLE_ID, arriveSigned, exampleOf, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==";
const EXAMPLE = exampleOf(zendesk, "ticket.created");

export const fixture: SourceFixture = {
  kind: zendesk,
  settings: settingsOf("zendesk", [SECRET]),
  sign: (at, body = EXAMPLE.body) => arriveSigned(zendesk, "zendesk", SECRET, { at, body, headers: EXAMPLE.headers }),
  expected: { type: "zendesk.ticket.created", identity: EXAMPLE_ID },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["x-zendesk-webhook-signature", "x-zendesk-webhook-signature-timestamp"],
};
