import { slack } from "../../../src/sources/slack.ts";
import { JSON_TYPE, SIGNED_AT, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const BODY = json({
  type: "event_callback",
  event_id: "Ev08MFMKH6",
  event_time: 1_781_524_799,
  event: { type: "app_mention", text: 'about "url_verification"' },
});
const CHALLENGE = json({ token: "Jhj5dZrVaK7ZwHHjRyZWjbDl", challenge: "3eZbrw1aBm2rZgRN", type: "url_verification" });

export const fixture: SourceFixture = {
  kind: slack,
  settings: settingsOf("slack", [SECRET]),
  sign: (at, body = BODY) => arriveSigned(slack, "slack", SECRET, { at, body, headers: JSON_TYPE }),
  expected: { type: "slack.app_mention", identity: "Ev08MFMKH6" },
  toleranceMs: 300_000,
  get handshakes() {
    return [
      {
        request: fixture.sign(SIGNED_AT, CHALLENGE),
        answer: {
          status: 200,
          headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
          body: "3eZbrw1aBm2rZgRN",
        },
      },
    ];
  },
  coversBody: true,
  signatureHeaders: ["x-slack-signature", "x-slack-request-timestamp"],
};
