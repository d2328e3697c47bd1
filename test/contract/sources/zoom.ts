import { createHmac } from "node:crypto";
import { hashOf } from "../../../src/sources/request-reading.ts";
import { zoom } from "../../../src/sources/zoom.ts";
import { JSON_TYPE, SIGNED_AT, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "Zm9vYmFyYmF6cXV4cXV1";
const BODY = json({ event: "meeting.participant_joined", event_ts: 1_781_524_799_123, payload: { account_id: "abc" } });
const VALIDATION = json({
  payload: { plainToken: "qgg8vlvZRS6UYooatFL8Aw" },
  event_ts: 1,
  event: "endpoint.url_validation",
});

export const fixture: SourceFixture = {
  kind: zoom,
  settings: settingsOf("zoom", [SECRET]),
  sign: (at, body = BODY) => arriveSigned(zoom, "zoom", SECRET, { at, body, headers: JSON_TYPE }),
  expected: { type: "zoom.meeting.participant_joined", identity: hashOf(BODY) },
  toleranceMs: 300_000,
  get handshakes() {
    const encryptedToken = createHmac("sha256", SECRET).update("qgg8vlvZRS6UYooatFL8Aw").digest("hex");
    return [
      {
        request: fixture.sign(SIGNED_AT, VALIDATION),
        answer: {
          status: 200,
          headers: { "content-type": "application/json" },
          body: `{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"${encryptedToken}"}`,
        },
      },
    ];
  },
  coversBody: true,
  signatureHeaders: ["x-zm-signature", "x-zm-request-timestamp"],
};
