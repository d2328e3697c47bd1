import { sign as signBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { createPaypal } from "../../../src/sources/paypal.ts";
import { SERVER_PAIR } from "../../support/certificates.ts";
import { SIGNER_PAIR } from "../../support/signer-certificate.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const WEBHOOK_ID = "1JE4291016473214C";
const TRANSMISSION_ID = "69cd13f0-d67a-11e5-baa3-778b53f4ae55";
const CERTIFICATE_URL = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-1d93a270";
const BODY = json({
  id: "WH-2WR32451HC0233532-67976317FL4543714",
  event_type: "PAYMENT.CAPTURE.COMPLETED",
  create_time: "2026-06-15T11:59:59.000Z",
});

const kind = createPaypal({
  fetchText: (url) => Promise.resolve(url === CERTIFICATE_URL ? SIGNER_PAIR.cert : SERVER_PAIR.cert),
});

export const fixture: SourceFixture = {
  kind,
  settings: settingsOf("paypal", [], { webhook_id: WEBHOOK_ID, tolerance_s: 3600 }),
  sign: (at, body = BODY) => {
    const time = new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
    const text = `${TRANSMISSION_ID}|${time}|${WEBHOOK_ID}|${crc32(body)}`;
    return arrive("paypal", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "paypal-transmission-id": TRANSMISSION_ID,
        "paypal-transmission-time": time,
        "paypal-transmission-sig": signBytes("sha256", Buffer.from(text), SIGNER_PAIR.key).toString("base64"),
        "paypal-cert-url": CERTIFICATE_URL,
        "paypal-auth-algo": "SHA256withRSA",
      },
    });
  },
  expected: { type: "paypal.payment.capture.completed", identity: "WH-2WR32451HC0233532-67976317FL4543714" },
  toleranceMs: 3_600_000,
  coversBody: true,
  signatureHeaders: [
    "paypal-transmission-id",
    "paypal-transmission-time",
    "paypal-transmission-sig",
    "paypal-auth-algo",
    "paypal-cert-url",
  ],
  forgeries: [
    "https://api.paypal.com.example.com/v1/notifications/certs/CERT-1",
    "https://paypal.com.example.com/v1/notifications/certs/CERT-1",
    "https://evilpaypal.com/v1/notifications/certs/CERT-1",
    "https://api.paypal.com@example.com/v1/notifications/certs/CERT-1",
    "https://api.paypal.com/v1/other/CERT-1",
    "https://api.paypal.com/v1/notifications/certs/../../redirect",
    "http://api.paypal.com/v1/notifications/certs/CERT-1",
    "CERT-1",
  ].map((url) => ({
    name: `a certificate from ${url}`,
    request: (at: number) => {
      const request = fixture.sign(at);
      return { ...request, headers: { ...request.headers, "paypal-cert-url": url } };
    },
  })),
};
