import { square } from "../../../src/sources/square.ts";
import { square as sample } from "../../../src/sources/samples/square.ts";
import { JSON_TYPE, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "asdf1234-asdf1234-qwer";
const BODY = json({ type: "payment.created", event_id: "c5f2e5d7-5d58-4a2a", created_at: "2026-06-15T11:59:59Z" });

export const fixture: SourceFixture = {
  kind: square,
  settings: settingsOf("square", [SECRET]),
  sign: (at, body = BODY) => arriveSigned(sample, "square", SECRET, { at, body, headers: JSON_TYPE }),
  expected: { type: "square.payment.created", identity: "c5f2e5d7-5d58-4a2a" },
  coversBody: true,
  signatureHeaders: ["x-square-hmacsha256-signature"],
};
