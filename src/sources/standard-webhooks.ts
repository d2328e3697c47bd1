import { verify as verifySignature, type KeyObject } from "node:crypto";
import { createHmacKey, type HmacKey } from "../model/signature.ts";
import { findBase64Bytes, encodeNew, findBase64Problem, type SecretForm } from "../model/secrets.ts";
import {
  findEd25519Key,
  remember,
  badSignature,
  checkTime,
  findBase64,
  findHeader,
  getUnixSeconds,
  isSameText,
} from "./signatures.ts";
import { eventTypeOf, findTime, identityOf, oneEvent } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import type { ArrivedRequest, KindSettings, PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;
/** During a rotation there are a few signatures. */
const MAX_SIGNATURES = 20;
const SECRET_PREFIX = "whsec_";
const PUBLIC_PREFIX = "whpk_";

type StandardKey = { readonly hmac: HmacKey } | { readonly ed25519: KeyObject } | undefined;
const keyOf = remember(parseKey);

/** The prefix of secrets may be missing, as with the libraries of the standard. */
export const STANDARD_SECRET: SecretForm = {
  findProblem(secret) {
    if (secret.startsWith(PUBLIC_PREFIX)) {
      return keyOf(secret) === undefined ? "is not whpk_ and the base64 of a public Ed25519 key" : undefined;
    }
    return findBase64Problem(withoutPrefix(secret));
  },
  create: (random) => SECRET_PREFIX + encodeNew(random, "base64"),
};

/** standardwebhooks.com, also with the headers of Svix. Secrets are `whsec_…` (v1) or public keys `whpk_…` (v1a). */
export const standardWebhooks: PushedSourceKind = {
  name: "standard-webhooks",
  options: ToleranceAlone,
  needsSecret: true,
  secretForm: () => STANDARD_SECRET,
  pointers: [["type"], ["timestamp"]],
  verify: verifyStandardRequest,
  events(request, _settings, form) {
    const [type, time] = form.texts;
    const identity = identityOf(standardHeader(request, "id"));
    return oneEvent(eventTypeOf("standard-webhooks", type), identity, findTime(time));
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
  if (id.includes(".")) throw badSignature("The id of the webhook must not contain a dot.");
  const at = getUnixSeconds(time);
  const given = signature.split(" ", MAX_SIGNATURES);
  const isSigned = settings.secrets.some((secret) => isSignedBy(keyOf(secret), given, `${id}.${time}.`, request.body));
  if (!isSigned) throw badSignature("No signature matches this body with a secret of this source.");
  checkTime(at, request, settings, TOLERANCE_S);
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

/** An invalid secret, or one that is easy to guess, verifies nothing. */
function parseKey(secret: string): StandardKey {
  if (secret.startsWith(PUBLIC_PREFIX)) {
    const ed25519 = findEd25519Key(findBase64Bytes(secret.slice(PUBLIC_PREFIX.length)));
    return ed25519 === undefined ? undefined : { ed25519 };
  }
  const text = withoutPrefix(secret);
  const bytes = findBase64Bytes(text);
  return bytes === undefined || findBase64Problem(text) !== undefined ? undefined : { hmac: createHmacKey(bytes) };
}

function withoutPrefix(secret: string): string {
  return secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
}
