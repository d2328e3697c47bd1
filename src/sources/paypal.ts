import { verify as verifySignature } from "node:crypto";
import { crc32 } from "node:zlib";
import { Type } from "typebox";
import { createCertificates } from "./certificates.ts";
import { findTime, readOneAtPointers } from "./request-reading.ts";
import { kindOptions, ToleranceOption, textOption } from "./kind-options.ts";
import { badSignature, checkTime, findBase64, getHeader } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

const HOST = /^(?:[a-z0-9-]+\.){1,4}paypal\.com$/;
const CERTIFICATE_PATH = /^\/v1\/notifications\/certs\/[A-Za-z0-9._-]{1,128}$/;

/**
 * developer.paypal.com/api/rest/webhooks/rest, verified here: RSA over the transmission's id and time, the id of the
 * webhook and the checksum of the body. The checksum is no hash, which is PayPal's choice.
 */
export function createPaypal({ fetchText }: { fetchText(url: string): Promise<string> }): PushedSourceKind {
  const certificates = createCertificates({ fetchText, host: HOST, path: CERTIFICATE_PATH });
  return {
    name: "paypal",
    options: kindOptions({
      webhook_id: Type.String({
        pattern: "^[A-Za-z0-9_-]{1,64}$",
        description: "The id of the webhook in PayPal's dashboard",
      }),
      tolerance_s: ToleranceOption,
    }),
    needsSecret: false,
    pointers: [["event_type"], ["id"], ["create_time"]],
    async verify(request, settings) {
      const id = getHeader(request, "paypal-transmission-id");
      const time = getHeader(request, "paypal-transmission-time");
      const signature = findBase64(getHeader(request, "paypal-transmission-sig"));
      if (signature === undefined) throw badSignature("paypal-transmission-sig is not base64.");
      if (getHeader(request, "paypal-auth-algo") !== "SHA256withRSA") {
        throw badSignature("paypal-auth-algo is not SHA256withRSA.");
      }
      const key = await certificates.publicKeyAt(getHeader(request, "paypal-cert-url"), request.receivedAt);
      const signed = `${id}|${time}|${textOption(settings, "webhook_id") ?? ""}|${crc32(request.body)}`;
      if (!verifySignature("sha256", Buffer.from(signed, "utf8"), key, signature)) {
        throw badSignature("The signature does not match this webhook and this body.");
      }
      checkTime(findTime(time) ?? Number.NaN, request, settings);
    },
    events: readOneAtPointers("paypal", "PayPal"),
  };
}
