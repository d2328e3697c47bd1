import { createHmac } from "node:crypto";
import { hmac } from "../../../src/sources/hmac.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = Buffer.from("a secret in base64").toString("base64");
const BODY = json({ id: 1 });

export const fixture: SourceFixture = {
  kind: hmac,
  settings: settingsOf("own", [SECRET], {
    header: "X-Own-Signature",
    algorithm: "sha512",
    encoding: "base64url",
    prefix: "v9=",
    signed: "{timestamp}.{method}.{header:x-own-id}.{body}!",
    timestamp_header: "X-Own-Time",
    tolerance_s: 30,
    secret_encoding: "base64",
  }),
  sign: (at, body = BODY) => {
    const time = String(at);
    const digest = createHmac("sha512", "a secret in base64")
      .update(`${time}.POST.own-1.`)
      .update(body)
      .update("!")
      .digest("base64url");
    return arrive("own", {
      at,
      body,
      headers: { ...JSON_TYPE, "x-own-id": "own-1", "x-own-time": time, "x-own-signature": `v9=${digest}` },
    });
  },
  expected: { type: "webhook.own", identity: undefined },
  toleranceMs: 30_000,
  coversBody: true,
  signatureHeaders: ["x-own-signature", "x-own-time", "x-own-id"],
};
