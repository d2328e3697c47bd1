import { github } from "../../../src/sources/github.ts";
import { EXAMPLE_ID, arriveSigned, exampleOf, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "It's a Secret to Everybody";
const EXAMPLE = exampleOf(github, "pull_request.opened");

export const fixture: SourceFixture = {
  kind: github,
  settings: settingsOf("github", [SECRET]),
  sign: (at, body = EXAMPLE.body) => arriveSigned(github, "github", SECRET, { at, body, headers: EXAMPLE.headers }),
  expected: { type: "github.pull_request.opened", identity: EXAMPLE_ID },
  coversBody: true,
  signatureHeaders: ["x-hub-signature-256"],
};
