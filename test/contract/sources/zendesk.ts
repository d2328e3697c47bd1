import { createHmac } from "node:crypto";
import { zendesk } from "../../../src/receive/sources/zendesk.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

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
  sign: (at, body = BODY) => {
    const time = new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
    return arrive("zendesk", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "x-zendesk-webhook-invocation-id": "01F1KRFQ6BG29CNWFR60NK5FNY",
        "x-zendesk-webhook-signature-timestamp": time,
        "x-zendesk-webhook-signature": createHmac("sha256", SECRET).update(time).update(body).digest("base64"),
      },
    });
  },
  expected: { type: "zendesk.ticket.created", identity: "01F1KRFQ6BG29CNWFR60NK5FNY" },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["x-zendesk-webhook-signature", "x-zendesk-webhook-signature-timestamp"],
};
