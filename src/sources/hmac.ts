import { Type } from "typebox";
import { findBase64Bytes, findHexBytes, BASE64_SECRET, HEX_SECRET, TEXT_SECRET } from "../model/secrets.ts";
import { kindOptions, choice, ToleranceOption, textOption } from "./kind-options.ts";
import { findTime, findTimeInMs } from "./request-reading.ts";
import { afterPrefix, badSignature, checkTime, findHmacSecret, getHeader, isHmacOf } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;
const HEADER_NAME = "^[A-Za-z0-9-]{1,64}$";
const PLACEHOLDER = /\{(body|timestamp|method|url|path|query|header:[A-Za-z0-9-]{1,64})\}/;

/** For senders with a signature scheme that no other kind has. Types and ids are read as for a generic source. */
export const hmac: PushedSourceKind = {
  name: "hmac",
  options: kindOptions({
    header: Type.String({ pattern: HEADER_NAME, description: "The header with the signature" }),
    algorithm: choice(["sha256", "sha1", "sha384", "sha512"], "The hash algorithm of the HMAC"),
    encoding: choice(["hex", "base64", "base64url"], "The encoding of the signature"),
    prefix: Type.Optional(
      Type.String({ maxLength: 32, default: "", description: "The text before the signature, such as `sha256=`" }),
    ),
    signed: Type.Optional(
      Type.String({
        pattern: "^[\\x20-\\x7e]*\\{body\\}[\\x20-\\x7e]*$",
        maxLength: 255,
        default: "{body}",
        description:
          "The signed text: a template with `{body}` and optionally `{timestamp}`, `{method}`, `{url}`, `{path}`, " +
          "`{query}` or `{header:NAME}`",
      }),
    ),
    timestamp_header: Type.Optional(
      Type.String({
        pattern: HEADER_NAME,
        default: "x-webhook-timestamp",
        description:
          "The header with the time: Unix seconds, milliseconds or RFC 3339. It is checked if `signed` contains " +
          "`{timestamp}`, or if this option or `tolerance_s` is set; a time that is not signed can be forged",
      }),
    ),
    tolerance_s: ToleranceOption,
    secret_encoding: choice(["utf8", "hex", "base64"], "How the secret is encoded; the key is the decoded bytes"),
  }),
  needsSecret: true,
  queuedStatus: 202,
  secretForm({ secret_encoding: encoding }) {
    return encoding === "hex" ? HEX_SECRET : encoding === "base64" ? BASE64_SECRET : TEXT_SECRET;
  },
  verify(request, settings) {
    const scheme = schemeOf(settings);
    const given = afterPrefix(getHeader(request, scheme.header), scheme.prefix);
    if (!isSigned(given, scheme, request, settings)) {
      throw badSignature("The signature was made with another secret or for other content.");
    }
    if (scheme.isTimed) {
      checkTime(parseTime(timestampOf(request, settings)), request, settings, TOLERANCE_S);
    }
  },
  replayMark(request, settings) {
    const { header, prefix, encoding } = schemeOf(settings);
    const given = afterPrefix(getHeader(request, header), prefix);
    return encoding === "hex" ? given.toLowerCase() : given;
  },
};

type Scheme = ReturnType<typeof readScheme>;
const schemes = new WeakMap<KindSettings, Scheme>();

function schemeOf(settings: KindSettings): Scheme {
  let scheme = schemes.get(settings);
  if (scheme === undefined) schemes.set(settings, (scheme = readScheme(settings)));
  return scheme;
}

/** The options of a source, with defaults filled in. */
function readScheme(settings: KindSettings) {
  const template = textOption(settings, "signed") ?? "{body}";
  const algorithm = textOption(settings, "algorithm") ?? "sha256";
  const encoding = toEncoding(textOption(settings, "encoding"));
  const keyEncoding = textOption(settings, "secret_encoding") ?? "utf8";
  const isPlain = template === "{body}" && algorithm === "sha256" && keyEncoding === "utf8";
  const { tolerance_s: tolerance, timestamp_header: timeHeader } = settings.options;
  return {
    header: (textOption(settings, "header") ?? "").toLowerCase(),
    prefix: textOption(settings, "prefix") ?? "",
    template,
    /** The time is signed; or it is not, and the options ask for a check nevertheless. */
    isTimed: template.includes("{timestamp}") || tolerance !== undefined || timeHeader !== undefined,
    algorithm,
    encoding,
    /** The keys of all secrets that have the encoding of the options. */
    keys: settings.secrets.map((secret) => findKey(secret, keyEncoding)).filter((key) => key !== undefined),
    /** The usual case: only the body is signed. */
    plainDigest: isPlain && encoding !== "base64url" ? encoding : undefined,
  };
}

function isSigned(given: string, scheme: Scheme, request: ArrivedRequest, settings: KindSettings): boolean {
  const { template, algorithm, encoding, keys, plainDigest } = scheme;
  if (plainDigest !== undefined) {
    return findHmacSecret(given, settings.secrets, "", request.body, plainDigest) !== undefined;
  }
  const parts = fillTemplate(template, request, settings);
  return keys.some((key) => isHmacOf(given, encoding, algorithm, key, parts));
}

/** The signed text, in parts. */
export function fillTemplate(template: string, request: ArrivedRequest, settings: KindSettings) {
  return template.split(PLACEHOLDER).map((part, at) => (at % 2 === 0 ? part : fill(part, request, settings)));
}

function fill(placeholder: string, request: ArrivedRequest, settings: KindSettings): string | Buffer {
  switch (placeholder) {
    case "timestamp":
      return timestampOf(request, settings);
    case "body":
    case "method":
    case "url":
    case "path":
    case "query":
      return request[placeholder];
    default:
      return getHeader(request, placeholder.slice("header:".length).toLowerCase());
  }
}

function timestampOf(request: ArrivedRequest, settings: KindSettings): string {
  return getHeader(request, (textOption(settings, "timestamp_header") ?? "x-webhook-timestamp").toLowerCase());
}

/** Twelve digits and more are milliseconds: as seconds they would be beyond the year 5000. */
function parseTime(text: string): number {
  const at = /^\d{12,}$/.test(text) ? findTimeInMs(text) : findTime(text);
  if (at === undefined) throw badSignature("The time of the signature is not a valid time.");
  return at;
}

function toEncoding(text: string | undefined): "hex" | "base64" | "base64url" {
  return text === "base64" || text === "base64url" ? text : "hex";
}

function findKey(secret: string, encoding: string): Buffer | undefined {
  if (encoding === "hex") return findHexBytes(secret);
  return encoding === "base64" ? findBase64Bytes(secret) : Buffer.from(secret, "utf8");
}
