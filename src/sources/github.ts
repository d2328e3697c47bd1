import { scalarTextAt } from "../model/json.ts";
import type { WellFormed } from "../sandbox/text/body-check.ts";
import { eventTypeOf, identityOf, findFieldStart, isForm } from "./request-reading.ts";
import { checkHubSignature, findHeader, getHeader } from "./signatures.ts";
import type { ArrivedRequest, PushedSourceKind } from "./source-kind.ts";

/** "Payloads are capped at 25 MB." A rejected body is lost: GitHub does not retry. */
const MAX_BYTES = 25 * 1024 * 1024;
/** In bodies with an action it is the first member. */
const MAX_ACTION_BYTES = 256 * 1024;

/** docs.github.com/en/webhooks: a redelivery has the same X-GitHub-Delivery. */
export const github: PushedSourceKind = {
  name: "github",
  needsSecret: true,
  maxBytes: MAX_BYTES,
  pointers: [["action"]],
  verify: checkHubSignature,
  replayMark: (request) => getHeader(request, "x-hub-signature-256").toLowerCase(),
  events(request, _settings, form) {
    const type = eventTypeOf("github", findHeader(request, "x-github-event"), findAction(request, form));
    return { events: [{ type, identity: identityOf(findHeader(request, "x-github-delivery")) }] };
  },
};

/** With the content type of forms, the same JSON is in the field `payload`. */
function findAction(request: ArrivedRequest, form: WellFormed): string | undefined {
  if (form.kind === "json" || !isForm(request)) return form.texts[0];
  const payload = findFieldStart(request, "payload", MAX_ACTION_BYTES);
  return payload === undefined ? undefined : scalarTextAt(payload, ["action"]);
}
