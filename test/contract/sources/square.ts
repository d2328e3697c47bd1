import { createHmac } from "node:crypto";
import { square } from "../../../src/receive/sources/square.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "asdf1234-asdf1234-qwer";
const BODY = json({ type: "payment.created", event_id: "c5f2e5d7-5d58-4a2a", created_at: "2026-06-15T11:59:59Z" });

export const fixture: SourceFixture = {
  kind: square,
  settings: settingsOf("square", [SECRET]),
  sign: (at, body = BODY) => {
    const unsigned = arrive("square", { at, body, headers: {} });
    const signature = createHmac("sha256", SECRET).update(unsigned.url).update(body).digest("base64");
    return { ...unsigned, headers: { ...JSON_TYPE, "x-square-hmacsha256-signature": signature } };
  },
  expected: { type: "square.payment.created", identity: "c5f2e5d7-5d58-4a2a" },
  coversBody: true,
  signatureHeaders: ["x-square-hmacsha256-signature"],
};
