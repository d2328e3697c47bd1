import { createHash } from "node:crypto";
import { Type } from "typebox";
import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, findTimeInMs, identityOf, requireJson, partsOfBody, readParts } from "./request-reading.ts";
import { kindOptions, signedUrl, ToleranceOption, UrlOption, textsOption } from "./kind-options.ts";
import { badSignature, checkTime, findHeader, getHeader, isHmacOf, isSameText } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, ReadEvent, PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;
const WRITTEN_OUT = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi;

/** HubSpot signs some characters as they are, however the URL writes them. */
export function decodeSigned(url: string): string {
  return url.replace(WRITTEN_OUT, decodeURIComponent);
}

/**
 * developers.hubspot.com, validating requests: v3. The older signatures are plain hashes, the first of them without a
 * word about where it was sent: they count only where `accept` says so.
 */
export const hubspot: PushedSourceKind = {
  name: "hubspot",
  options: kindOptions({
    url: UrlOption,
    tolerance_s: ToleranceOption,
    accept: Type.Optional(
      Type.Array(Type.Union([Type.Literal("v1"), Type.Literal("v2")]), {
        uniqueItems: true,
        description: "Older signature versions that are accepted when there is no v3",
      }),
    ),
  }),
  needsSecret: true,
  verify(request, settings) {
    const given = findHeader(request, "x-hubspot-signature-v3");
    const isSigned = given === undefined ? isSignedByOlder(request, settings) : isSignedByV3(given, request, settings);
    if (!isSigned)
      throw badSignature("The signature was made with another secret, for another URL or for another body.");
  },
  events({ body }, _settings, form) {
    requireJson(form, "HubSpot");
    return readParts(partsOfBody(body), readEvent);
  },
};

function isSignedByV3(given: string, request: ArrivedRequest, settings: KindSettings): boolean {
  const time = getHeader(request, "x-hubspot-request-timestamp");
  const at = findTimeInMs(time);
  if (at === undefined) throw badSignature("x-hubspot-request-timestamp is not in milliseconds.");
  checkTime(at, request, settings, TOLERANCE_S);
  const url = signedUrl(request, settings);
  const urls = [url, decodeSigned(url)];
  return settings.secrets.some((secret) =>
    urls.some((each) => isHmacOf(given, "base64", "sha256", secret, [request.method, each, request.body, time])),
  );
}

function isSignedByOlder(request: ArrivedRequest, settings: KindSettings): boolean {
  const given = getHeader(request, "x-hubspot-signature").toLowerCase();
  const version = findHeader(request, "x-hubspot-signature-version") ?? "";
  if (!textsOption(settings, "accept").includes(version)) {
    throw badSignature("The header x-hubspot-signature-v3 is missing, and no older signature is accepted here.");
  }
  const text = version === "v2" ? request.method + signedUrl(request, settings) : "";
  return settings.secrets.some((secret) =>
    isSameText(given, createHash("sha256").update(secret).update(text).update(request.body).digest("hex")),
  );
}

/** `eventId` alone is not guaranteed to be unique; `attemptNumber` differs between attempts. */
function readEvent(body: Buffer): ReadEvent {
  const occurredAt = scalarTextAt(body, ["occurredAt"]);
  return {
    type: eventTypeOf("hubspot", scalarTextAt(body, ["subscriptionType"])),
    identity: identityOf(
      scalarTextAt(body, ["subscriptionId"]),
      scalarTextAt(body, ["eventId"]),
      scalarTextAt(body, ["objectId"]) ?? scalarTextAt(body, ["fromObjectId"]) ?? "-",
      occurredAt,
    ),
    occurredAt: findTimeInMs(occurredAt),
    body,
  };
}
