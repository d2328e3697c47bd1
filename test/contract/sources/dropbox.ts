import { dropbox } from "../../../src/sources/dropbox.ts";
import {
  JSON_TYPE,
  SIGNED_AT,
  arrive,
  arriveSigned,
  exampleOf,
  settingsOf,
  type SourceFixture,
} from "../source-fixture.ts";

const SECRET = "appsecret0fif15";
const { body: BODY } = exampleOf(dropbox, "notification");

export const fixture: SourceFixture = {
  kind: dropbox,
  settings: settingsOf("dropbox", [SECRET]),
  sign: (at, body = BODY) => arriveSigned(dropbox, "dropbox", SECRET, { at, body, headers: JSON_TYPE }),
  expected: { type: "dropbox.notification", identity: undefined },
  handshakes: [
    {
      request: arrive("dropbox", { at: SIGNED_AT, method: "GET", query: "challenge=a%3Cb%3E", headers: {} }),
      answer: {
        status: 200,
        headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
        body: "a<b>",
      },
    },
  ],
  coversBody: true,
  signatureHeaders: ["x-dropbox-signature"],
};
