import { createPublicKey, type KeyObject } from "node:crypto";
import { findBase64Bytes } from "../model/secrets.ts";
import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, findTime, hashOf, identityOf, requireJson, partsOfBody, readParts } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { checkKeySignature, findBase64, publicKeyForm, remember, type KeyScheme } from "./signatures.ts";
import type { ReadEvent, PushedSourceKind } from "./source-kind.ts";

const keyOf = remember(parsePublicKey);
const VERIFICATION_KEY = publicKeyForm(keyOf, "is not a verification key of SendGrid: the base64 of a public EC key");
const SIGNED: KeyScheme = {
  headers: {
    time: "x-twilio-email-event-webhook-timestamp",
    signature: "x-twilio-email-event-webhook-signature",
  },
  form: "base64",
  decode: findBase64,
  algorithm: "sha256",
  keyOf,
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
  verify: (request, settings) => checkKeySignature(request, settings, SIGNED),
  events({ body }, _settings, form) {
    requireJson(form, "SendGrid");
    return readParts(partsOfBody(body), readEvent);
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
