import { linear } from "../../../src/sources/linear.ts";
import { JSON_TYPE, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "lin_wh_7Jw3Zk9QmT2xVb";

export const fixture: SourceFixture = {
  kind: linear,
  settings: settingsOf("linear", [SECRET]),
  sign: (at, body = bodyAt(at)) =>
    arriveSigned(linear, "linear", SECRET, {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "linear-delivery": "234d1a4e-b617-4388-90fe-adc3633d6b72",
        "linear-event": "IssueLabel",
      },
    }),
  expected: { type: "linear.issue_label.create", identity: "234d1a4e-b617-4388-90fe-adc3633d6b72" },
  toleranceMs: 60_000,
  coversBody: true,
  signatureHeaders: ["linear-signature"],
  forgeries: [{ name: "a signed body without a time", request: (at) => fixture.sign(at, json({ type: "Issue" })) }],
};

function bodyAt(at: number): Buffer {
  return json({ action: "create", type: "IssueLabel", createdAt: "2026-06-15T11:59:59.530Z", webhookTimestamp: at });
}
