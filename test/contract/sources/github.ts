import { github } from "../../../src/sources/github.ts";
import { github as sample } from "../../../src/sources/samples/github.ts";
import { JSON_TYPE, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "It's a Secret to Everybody";
const BODY = json({ action: "opened", number: 9007199254740993n.toString(), repository: { full_name: "octo/hello" } });

export const fixture: SourceFixture = {
  kind: github,
  settings: settingsOf("github", [SECRET]),
  sign: (at, body = BODY) =>
    arriveSigned(sample, "github", SECRET, {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "x-github-event": "pull_request",
        "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      },
    }),
  expected: { type: "github.pull_request.opened", identity: "72d3162e-cc78-11e3-81ab-4c9367dc0958" },
  coversBody: true,
  signatureHeaders: ["x-hub-signature-256"],
};
