import { readOneAtPointers } from "./request-reading.ts";
import { kindOptions, signedUrl, UrlOption } from "./kind-options.ts";
import { getHeader, getHmacSecret } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/** developer.squareup.com/docs/webhooks: signs the registered URL and the body. */
export const square: PushedSourceKind = {
  name: "square",
  options: kindOptions({ url: UrlOption }),
  needsSecret: true,
  pointers: [["type"], ["event_id"], ["created_at"]],
  verify(request, settings) {
    const given = getHeader(request, "x-square-hmacsha256-signature");
    getHmacSecret(given, settings, signedUrl(request, settings), request.body, "base64");
  },
  events: readOneAtPointers("square", "Square"),
};
