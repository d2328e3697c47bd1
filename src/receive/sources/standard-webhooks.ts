import { createPublicKey, verify as verifySignature, type KeyObject } from "node:crypto";
import { Type } from "typebox";
import { createHmacKey, type HmacKey } from "../../domain/hmac.ts";
import { eventTypeOf, findTime, identityOf } from "./event-naming.ts";
import { ToleranceOption, toleranceMsOf } from "./kind-options.ts";
import { remember } from "./remember.ts";
import { badSignature, checkTime, findBase64, findHeader, getUnixSeconds, isSameText } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, SourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;
/** While keys are changed there are a few. */
const MAX_SIGNATURES = 20;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** RFC 8410: what stands before the 32 bytes of the key in SPKI. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");

type StandardKey = { readonly hmac: HmacKey } | { readonly ed25519: KeyObject } | undefined;
const keyOf = remember(parseKey);

/** standardwebhooks.com, also with the headers of Svix. Secrets are `whsec_…` (v1) or public keys `whpk_…` (v1a). */
export const standardWebhooks: SourceKind = {
  name: "standard-webhooks",
  options: Type.Object({ tolerance_s: ToleranceOption }, { additionalProperties: false }),
  needsSecret: true,
  pointers: [["type"], ["timestamp"]],
  verify: verifyStandardRequest,
  events(request, _settings, form) {
    const [type, time] = form.texts;
    return {
      events: [
        {
          type: eventTypeOf("standard-webhooks", type),
          identity: identityOf(standardHeader(request, "id")),
          occurredAt: findTime(time),
        },
      ],
    };
  },
};

export function verifyStandardRequest(request: ArrivedRequest, settings: KindSettings): void {
  const id = standardHeader(request, "id");
  const time = standardHeader(request, "timestamp");
  const signature = standardHeader(request, "signature");
  if (id === undefined || time === undefined || signature === undefined) {
    throw badSignature("One of the headers webhook-id, webhook-timestamp and webhook-signature is missing.");
  }
  // With a dot in the id the same bytes could be read as another id, time and body.
  if (id.includes(".")) throw badSignature("The id of the webhook has a dot.");
  const at = getUnixSeconds(time);
  const given = signature.split(" ", MAX_SIGNATURES);
  const isSigned = settings.secrets.some((secret) => isSignedBy(keyOf(secret), given, `${id}.${time}.`, request.body));
  if (!isSigned) throw badSignature("No signature was made with a secret of this source and of this body.");
  checkTime(at, request, toleranceMsOf(settings, TOLERANCE_S));
}

function standardHeader(request: ArrivedRequest, name: string): string | undefined {
  return findHeader(request, `webhook-${name}`) ?? findHeader(request, `svix-${name}`);
}

function isSignedBy(key: StandardKey, given: readonly string[], text: string, body: Buffer): boolean {
  if (key === undefined) return false;
  if ("hmac" in key) {
    const expected = `v1,${key.hmac.digest(text, body, "base64")}`;
    return given.some((signature) => isSameText(signature, expected));
  }
  const signed = Buffer.concat([Buffer.from(text, "utf8"), body]);
  return given.some((signature) => {
    const [version, encoded = ""] = signature.split(",");
    const bytes = version === "v1a" ? findBase64(encoded) : undefined;
    return bytes !== undefined && verifySignature(null, signed, key.ed25519, bytes);
  });
}

/** A secret that is none signs nothing: `Buffer.from` takes anything for base64 and would make an empty key of it. */
function parseKey(secret: string): StandardKey {
  const encoded = secret.replace(/^wh(?:sec|pk)_/, "");
  if (!BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  if (!secret.startsWith("whpk_")) return { hmac: createHmacKey(bytes) };
  if (bytes.length !== 32) return undefined;
  return { ed25519: createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: "der", type: "spki" }) };
}
