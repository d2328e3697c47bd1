import { createPrivateKey, createPublicKey, sign as signBytes } from "node:crypto";
import { discord } from "../../../src/sources/discord.ts";
import { hashOf } from "../../../src/sources/request-reading.ts";
import { JSON_TYPE, SIGNED_AT, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const KEY = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 7)]),
  format: "der",
  type: "pkcs8",
});
const PUBLIC_KEY = createPublicKey(KEY).export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
const BODY = json({
  version: 1,
  application_id: "1234560123453231555",
  type: 1,
  event: { type: "APPLICATION_AUTHORIZED", timestamp: "2026-06-15T11:59:57.101123", data: { integration_type: 1 } },
});

export const fixture: SourceFixture = {
  kind: discord,
  settings: settingsOf("discord", [PUBLIC_KEY], { tolerance_s: 600 }),
  sign: (at, body = BODY) => {
    const time = String(Math.floor(at / 1000));
    const signature = signBytes(null, Buffer.concat([Buffer.from(time), body]), KEY).toString("hex");
    return arrive("discord", {
      at,
      body,
      headers: { ...JSON_TYPE, "x-signature-timestamp": time, "x-signature-ed25519": signature },
    });
  },
  expected: { type: "discord.application_authorized", identity: hashOf(BODY) },
  toleranceMs: 600_000,
  get handshakes() {
    return [
      {
        request: fixture.sign(SIGNED_AT, json({ application_id: "1", id: "2", token: "t", type: 1, version: 1 })),
        answer: { status: 200, headers: { "content-type": "application/json" }, body: '{"type":1}' },
      },
      {
        request: fixture.sign(SIGNED_AT, json({ version: 1, application_id: "1", type: 0 })),
        answer: { status: 204 },
      },
    ];
  },
  coversBody: true,
  signatureHeaders: ["x-signature-ed25519", "x-signature-timestamp"],
};
