import { eventTypeOf, identityOf } from "./event-naming.ts";
import { afterPrefix, findHeader, getHeader, getHmacSecret } from "./signatures.ts";
import type { SourceKind } from "./source-kind.ts";

/** docs.github.com/en/webhooks: a redelivery has the same X-GitHub-Delivery. */
export const github: SourceKind = {
  name: "github",
  needsSecret: true,
  pointers: [["action"]],
  verify(request, settings) {
    const given = afterPrefix(getHeader(request, "x-hub-signature-256"), "sha256=");
    getHmacSecret(given, settings, "", request.body, "hex");
  },
  events(request, _settings, form) {
    const type = eventTypeOf("github", findHeader(request, "x-github-event"), form.texts[0]);
    return { events: [{ type, identity: identityOf(findHeader(request, "x-github-delivery")) }] };
  },
};
