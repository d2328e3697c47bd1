import { textSecret } from "../model/secrets.ts";
import { queryFields } from "./request-reading.ts";
import { echoChallenge } from "./handshakes.ts";
import { getHeader, checkBodyHmac } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/** Dropbox generates the secrets of apps, with 15 characters. */
const APP_SECRET = textSecret(15);

/**
 * dropbox.com/developers/reference/webhooks. A notification says only whose files have changed, in the same form each
 * time. It has no id, because an equal second notification is about another change.
 */
export const dropbox: PushedSourceKind = {
  name: "dropbox",
  needsSecret: true,
  secretForm: () => APP_SECRET,
  handshakeMethods: ["GET"],
  handshake(request) {
    if (request.method !== "GET") return undefined;
    return echoChallenge(queryFields(request).get("challenge") ?? "");
  },
  verify(request, settings) {
    return checkBodyHmac(getHeader(request, "x-dropbox-signature"), settings, request.body, "hex");
  },
  events: () => ({ events: [{ type: "dropbox.notification", identity: undefined }] }),
};
