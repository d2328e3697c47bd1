import { Type } from "typebox";
import { eventTypeOf, findTime, identityOf, requireJson, oneEvent } from "./request-reading.ts";
import { UrlOption, textOption } from "./kind-options.ts";
import { getHeader, getHmacSecret } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/** developer.squareup.com/docs/webhooks: signs the registered URL and the body. */
export const square: PushedSourceKind = {
  name: "square",
  options: Type.Object({ url: UrlOption }, { additionalProperties: false }),
  needsSecret: true,
  pointers: [["type"], ["event_id"], ["created_at"]],
  verify(request, settings) {
    const given = getHeader(request, "x-square-hmacsha256-signature");
    getHmacSecret(given, settings, textOption(settings, "url") ?? request.url, request.body, "base64");
  },
  events(_request, _settings, form) {
    requireJson(form, "Square");
    const [type, id, time] = form.texts;
    return oneEvent(eventTypeOf("square", type), identityOf(id), findTime(time));
  },
};
