import { Type } from "typebox";
import { PosthornError } from "../model/errors.ts";
import { eventTypeOf, hashOf, requireJson, oneEvent, queryFields } from "./request-reading.ts";
import { kindOptions, textOption } from "./kind-options.ts";
import { echoChallenge } from "./handshakes.ts";
import { checkHubSignature, isSameSecret } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/** Webhooks of WhatsApp have up to 3 MB. */
const MAX_BYTES = 3 * 1024 * 1024;

/** developers.facebook.com/docs/graph-api/webhooks: Facebook, Instagram, WhatsApp. Entries hold their time and ids. */
export const meta: PushedSourceKind = {
  name: "meta",
  options: kindOptions({
    verify_token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: "The verify token that you entered in the dashboard of the app",
      }),
    ),
  }),
  needsSecret: true,
  maxBytes: MAX_BYTES,
  handshakeMethods: ["GET"],
  pointers: [["object"]],
  handshake(request, settings) {
    if (request.method !== "GET") return undefined;
    const query = queryFields(request);
    const expected = textOption(settings, "verify_token");
    const given = query.get("hub.verify_token");
    if (expected === undefined || given === null || !isSameSecret(given, expected)) {
      throw new PosthornError("forbidden", "hub.verify_token is not the verify_token of this source.");
    }
    if (query.get("hub.mode") !== "subscribe") throw new PosthornError("bad_request", "hub.mode is not subscribe.");
    return echoChallenge(query.get("hub.challenge") ?? "");
  },
  verify: checkHubSignature,
  events(request, _settings, form) {
    requireJson(form, "Meta");
    return oneEvent(eventTypeOf("meta", form.texts[0]), hashOf(request.body));
  },
};
