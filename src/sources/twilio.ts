import { createHash } from "node:crypto";
import { parseUrl } from "../model/addresses.ts";
import { eventTypeOf, identityOf, formFields, isForm, queryFields } from "./request-reading.ts";
import { kindOptions, signedUrl, UrlOption } from "./kind-options.ts";
import { badSignature, findHeader, getHeader, isHmacOf, isSameText } from "./signatures.ts";
import type { ArrivedRequest, KindAnswer, PushedSourceKind } from "./source-kind.ts";

const NO_REPLY: KindAnswer = {
  status: 200,
  headers: { "content-type": "text/xml" },
  body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
};

/**
 * twilio.com/docs/usage/webhooks/webhooks-security: HMAC-SHA1 of the URL and the sorted fields of the form. What is no
 * form is covered by `bodySHA256` in the URL.
 */
export const twilio: PushedSourceKind = {
  name: "twilio",
  options: kindOptions({ url: UrlOption }),
  needsSecret: true,
  verify(request, settings) {
    const given = getHeader(request, "x-twilio-signature");
    const fields = isForm(request) ? signedFields(formFields(request)) : "";
    if (!isForm(request)) checkBody(request);
    const urls = urlsOf(signedUrl(request, settings));
    const isSigned = settings.secrets.some((secret) =>
      [...urls].some((url) => isHmacOf(given, "base64", "sha1", secret, [url, fields])),
    );
    if (!isSigned)
      throw badSignature("The signature was made with another token, for another URL or for another form.");
  },
  replayMark: (request) => getHeader(request, "x-twilio-signature"),
  events(request) {
    const fields = isForm(request) ? formFields(request) : queryFields(request);
    return {
      events: [{ type: typeOf(fields), identity: identityOf(findHeader(request, "i-twilio-idempotency-token")) }],
    };
  },
  // Twilio would read any other text as call instructions, or send it as a message.
  answer: () => NO_REPLY,
};

export function signedFields(fields: URLSearchParams): string {
  const names = [...new Set(fields.keys())].sort();
  return names.flatMap((name) => [...new Set(fields.getAll(name))].sort().map((value) => name + value)).join("");
}

function checkBody(request: ArrivedRequest): void {
  const { body } = request;
  const given = queryFields(request).get("bodySHA256");
  if (given === null && body.length === 0) return;
  if (given === null || !isSameText(given.toLowerCase(), createHash("sha256").update(body).digest("hex"))) {
    throw badSignature("bodySHA256 in the URL does not match the body.");
  }
}

/**
 * Twilio signs the URL with the port for some of its products and without it for others; and as it was entered, or as
 * clients write it.
 */
function urlsOf(url: string): ReadonlySet<string> {
  return new Set([...withAndWithoutPort(url), ...withAndWithoutPort(parseUrl(url)?.href ?? url)]);
}

function withAndWithoutPort(url: string): readonly string[] {
  const [, scheme = "", host = "", port, rest = ""] = /^(https?):\/\/([^/?#]*?)(?::(\d+))?([/?#].*)?$/.exec(url) ?? [];
  if (scheme === "") return [url];
  return [`${scheme}://${host}${rest}`, `${scheme}://${host}:${port ?? (scheme === "https" ? "443" : "80")}${rest}`];
}

function typeOf(fields: URLSearchParams): string {
  const message = fields.get("MessageStatus") ?? fields.get("SmsStatus");
  if (message !== null) return eventTypeOf("twilio", "message", message);
  const call = fields.get("CallStatus");
  return call === null ? eventTypeOf("twilio", "webhook") : eventTypeOf("twilio", "call", call);
}
