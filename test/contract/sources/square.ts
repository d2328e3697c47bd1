import { square } from "../../../src/sources/square.ts";
import { EXAMPLE_ID, JSON_TYPE, arriveSigned, exampleOf, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "asdf1234-asdf1234-qwer";
const { body: BODY } = exampleOf(square, "payment.created");

export const fixture: SourceFixture = {
  kind: square,
  settings: settingsOf("square", [SECRET]),
  sign: (at, body = BODY) => arriveSigned(square, "square", SECRET, { at, body, headers: JSON_TYPE }),
  expected: { type: "square.payment.created", identity: EXAMPLE_ID },
  coversBody: true,
  signatureHeaders: ["x-square-hmacsha256-signature"],
};
