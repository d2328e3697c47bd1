import { createHash } from "node:crypto";
import { Type } from "typebox";
import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, findTimeInMs, identityOf, requireJson, partsOf, readParts, rootSpan } from "./request-reading.ts";
import { ToleranceOption, UrlOption, textOption, textsOption } from "./kind-options.ts";
import { badSignature, checkTime, findHeader, getHeader, isHmacOf, isSameText } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, ReadEvent, PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;
/** HubSpot signs these as they are, however the URL writes them. */
const WRITTEN_OUT = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi;

/**
 * developers.hubspot.com, validating requests: v3. The older signatures are plain hashes, the first of them without a
 * word about where it was sent: they count only where `accept` says so.
 */
export const hubspot: PushedSourceKind = {
  name: "hubspot",
  options: Type.Object(
    {
      url: UrlOption,
      tolerance_s: ToleranceOption,
      accept: Type.Optional(
        Type.Array(Type.Union([Type.Literal("v1"), Type.Literal("v2")]), {
          uniqueItems: true,
          description: "Older signature versions that are accepted when there is no v3",
        }),
      ),
    },
    { additionalProperties: false },
  ),
  needsSecret: true,
  verify(request, settings) {
    const given = findHeader(request, "x-hubspot-signature-v3");
    const isSigned = given === undefined ? isSignedByOlder(request, settings) : isSignedByV3(given, request, settings);
    if (!isSigned)
      throw badSignature("The signature was made with another secret, for another URL or for another body.");
  },
  events(request, _settings, form) {
    requireJson(form, "HubSpot");
    const { body } = request;
    return readParts(partsOf(body, rootSpan(body)) ?? [body], readEvent);
  },
};

function isSignedByV3(given: string, request: ArrivedRequest, settings: KindSettings): boolean {
  const time = getHeader(request, "x-hubspot-request-timestamp");
  const at = findTimeInMs(time);
  if (at === undefined) throw badSignature("x-hubspot-request-timestamp is not in milliseconds.");
  checkTime(at, request, settings, TOLERANCE_S);
  const url = urlOf(request, settings);
  const urls = [url, url.replace(WRITTEN_OUT, decodeURIComponent)];
  return settings.secrets.some((secret) =>
    urls.some((each) => isHmacOf(given, "sha256", secret, [request.method, each, request.body, time], "base64")),
  );
}

function isSignedByOlder(request: ArrivedRequest, settings: KindSettings): boolean {
  const given = getHeader(request, "x-hubspot-signature").toLowerCase();
  const version = findHeader(request, "x-hubspot-signature-version") ?? "";
  if (!textsOption(settings, "accept").includes(version)) {
    throw badSignature("The header x-hubspot-signature-v3 is missing, and no older signature is accepted here.");
  }
  const text = version === "v2" ? request.method + urlOf(request, settings) : "";
  return settings.secrets.some((secret) =>
    isSameText(given, createHash("sha256").update(secret).update(text).update(request.body).digest("hex")),
  );
}

function urlOf(request: ArrivedRequest, settings: KindSettings): string {
  return textOption(settings, "url") ?? request.url;
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
