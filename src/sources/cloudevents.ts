import { Type } from "typebox";
import { HEADER_SECRET } from "../model/secrets.ts";
import { AbuseProtectionOptions, answerPermission } from "./abuse-protection.ts";
import { readCloudEvents } from "./cloud-event.ts";
import { queryFields } from "./form-fields.ts";
import { badSignature, findHeader, isOneOf } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/**
 * github.com/cloudevents/spec: http-webhook.md and the HTTP binding. A sender shows its token after `Bearer`, or as
 * `access_token` in the query (§3). OPTIONS needs no token: it only says who may deliver.
 */
export const cloudevents: PushedSourceKind = {
  name: "cloudevents",
  options: Type.Object(AbuseProtectionOptions, { additionalProperties: false }),
  needsSecret: true,
  secretForm: () => HEADER_SECRET,
  handshakeMethods: ["OPTIONS"],
  handshake: (request, settings) => answerPermission(request, settings),
  verify(request, { secrets }) {
    const bearer = findHeader(request, "authorization")?.replace(/^bearer +/i, "");
    const given = [bearer, queryFields(request).get("access_token") ?? undefined].filter((one) => one !== undefined);
    if (given.length === 0) throw badSignature("There is neither a bearer token nor an access_token.");
    if (!given.some((one) => isOneOf(one, secrets))) throw badSignature("The token is not a token of this source.");
  },
  events: (request, _settings, form) => readCloudEvents("cloudevents", request, form),
};
