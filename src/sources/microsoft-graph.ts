import { EACH } from "../model/masking.ts";
import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, identityOf, requireJson, queryFields, partsOfMember, readParts } from "./request-reading.ts";
import { echoChallenge } from "./handshakes.ts";
import { badSignature, isOneOf } from "./signatures.ts";
import type { ReadEvent, PushedSourceKind } from "./source-kind.ts";

/**
 * learn.microsoft.com/graph/change-notifications-overview. Nothing is signed: each notification repeats the
 * `clientState` of its subscription, which is the secret here.
 */
export const microsoftGraph: PushedSourceKind = {
  name: "microsoft-graph",
  needsSecret: true,
  // Of a notification, which is an event, and of a whole request.
  mask: [["clientState"], ["value", EACH, "clientState"], ["value", "clientState"]],
  handshakeMethods: ["GET", "POST"],
  handshake(request) {
    if (!request.query.includes("validationToken=")) return undefined;
    const token = queryFields(request).get("validationToken");
    return token === null ? undefined : echoChallenge(token);
  },
  verify({ body }, { secrets }) {
    const notifications = partsOfMember(body, "value") ?? [];
    if (notifications.length === 0) throw badSignature("The body has no notification with a clientState.");
    for (const notification of notifications) {
      const given = scalarTextAt(notification, ["clientState"]);
      if (given === undefined || !isOneOf(given, secrets)) {
        throw badSignature("The clientState of a notification is not a secret of this source.");
      }
    }
  },
  events({ body }, _settings, form) {
    requireJson(form, "Microsoft Graph");
    return readParts(partsOfMember(body, "value") ?? [], readNotification);
  },
  // Any 2xx counts as success; the documentation asks for 202.
  answer: () => ({ status: 202 }),
};

/**
 * Two changes of one object may have equal notifications. So without an id of the notification, only a version of the
 * object (its etag) shows that a notification is a repetition.
 */
function readNotification(body: Buffer): ReadEvent {
  const at = (...pointer: readonly string[]) => scalarTextAt(body, pointer);
  const lifecycle = at("lifecycleEvent");
  const resource = at("resourceData", "@odata.type")?.replace(/^#?microsoft\.graph\./i, "");
  const change = at("changeType");
  return {
    type:
      lifecycle === undefined
        ? eventTypeOf("microsoft-graph", resource, change)
        : eventTypeOf("microsoft-graph", "lifecycle", lifecycle),
    identity:
      identityOf(at("subscriptionId"), at("id")) ??
      identityOf(at("subscriptionId"), change, at("resource"), at("resourceData", "@odata.etag")),
    body,
  };
}
