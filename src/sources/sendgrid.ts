import { createPublicKey, verify as verifySignature, type KeyObject } from "node:crypto";
import { findBase64Bytes, type SecretForm } from "../model/secrets.ts";
import { scalarTextAt } from "../model/json.ts";
import {
  eventTypeOf,
  findTime,
  hashOf,
  identityOf,
  requireJson,
  partsOf,
  readParts,
  rootSpan,
} from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { remember, badSignature, checkTime, findBase64, getHeader, getUnixSeconds } from "./signatures.ts";
import type { ReadEvent, PushedSourceKind } from "./source-kind.ts";

const SIGNATURE = "x-twilio-email-event-webhook-signature";
const TIMESTAMP = "x-twilio-email-event-webhook-timestamp";
const keyOf = remember(parsePublicKey);
const VERIFICATION_KEY: SecretForm = {
  findProblem: (secret) =>
    keyOf(secret) === undefined ? "is not a verification key of SendGrid: the base64 of a public EC key" : undefined,
  create: () => undefined,
};

/**
 * twilio.com/docs/sendgrid: the event webhook, signed with ECDSA over the timestamp and the body, which is a list of
 * events. The secret is the verification key.
 */
export const sendgrid: PushedSourceKind = {
  name: "sendgrid",
  options: ToleranceAlone,
  needsSecret: true,
  secretForm: () => VERIFICATION_KEY,
  verify(request, settings) {
    const given = getHeader(request, SIGNATURE);
    const time = getHeader(request, TIMESTAMP);
    const at = getUnixSeconds(time);
    const signature = findBase64(given);
    if (signature === undefined) throw badSignature(`${SIGNATURE} is not base64.`);
    const signed = Buffer.concat([Buffer.from(time, "utf8"), request.body]);
    const isSigned = settings.secrets.some((secret) => {
      const key = keyOf(secret);
      return key !== undefined && verifySignature("sha256", signed, key, signature);
    });
    if (!isSigned) throw badSignature("The signature was made with another key or for another body.");
    checkTime(at, request, settings);
  },
  events(request, _settings, form) {
    requireJson(form, "SendGrid");
    const { body } = request;
    return readParts(partsOf(body, rootSpan(body)) ?? [body], readEvent);
  },
};

function readEvent(body: Buffer): ReadEvent {
  return {
    type: eventTypeOf("sendgrid", scalarTextAt(body, ["event"])),
    identity: identityOf(scalarTextAt(body, ["sg_event_id"])) ?? hashOf(body),
    occurredAt: findTime(scalarTextAt(body, ["timestamp"])),
    body,
  };
}

function parsePublicKey(secret: string): KeyObject | undefined {
  const bytes = findBase64Bytes(secret);
  if (bytes === undefined) return undefined;
  try {
    const key = createPublicKey({ key: bytes, format: "der", type: "spki" });
    return key.asymmetricKeyType === "ec" ? key : undefined;
  } catch {
    return undefined;
  }
}
