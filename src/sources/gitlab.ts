import { HEADER_SECRET, type SecretForm } from "../model/secrets.ts";
import { eventTypeOf, identityOf, oneEvent } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { badSignature, findHeader, getHeader, isOneOf } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, PushedSourceKind } from "./source-kind.ts";
import { STANDARD_SECRET, verifyStandardRequest } from "./standard-webhooks.ts";

/** GitLab does not send more than 25 MB. */
const MAX_BYTES = 25 * 1024 * 1024;

/** A signing token is never compared as a plain token, which would accept unsigned bodies. */
const TOKEN: SecretForm = {
  findProblem: (secret) => (isSigningToken(secret) ? STANDARD_SECRET : HEADER_SECRET).findProblem(secret),
  create: (random, current) =>
    (current === undefined || isSigningToken(current) ? STANDARD_SECRET : HEADER_SECRET).create(random, current),
};

/**
 * docs.gitlab.com/user/project/integrations/webhooks: a secret token, sent as it is, or a signing token (`whsec_…`),
 * which makes signatures of Standard Webhooks. With a signing token alone a mere token is not enough.
 */
export const gitlab: PushedSourceKind = {
  name: "gitlab",
  options: ToleranceAlone,
  needsSecret: true,
  maxBytes: MAX_BYTES,
  secretForm: () => TOKEN,
  pointers: [["object_attributes", "action"], ["event_name"]],
  verify(request, settings) {
    const isSigned = findHeader(request, "webhook-signature") !== undefined && settings.secrets.some(isSigningToken);
    if (isSigned) verifyStandardRequest(request, settings);
    else checkToken(request, settings);
  },
  events(request, _settings, form) {
    const [action, eventName] = form.texts;
    const hook = findHeader(request, "x-gitlab-event")?.replace(/ Hook$/, "");
    const identity = findHeader(request, "webhook-id") ?? findHeader(request, "idempotency-key");
    return oneEvent(eventTypeOf("gitlab", hook, hook === "System" ? eventName : action), identityOf(identity));
  },
};

function checkToken(request: ArrivedRequest, { secrets }: KindSettings): void {
  const given = getHeader(request, "x-gitlab-token");
  const tokens = secrets.filter((secret) => !isSigningToken(secret));
  if (!isOneOf(given, tokens)) throw badSignature("The token in x-gitlab-token is not a token of this source.");
}

function isSigningToken(secret: string): boolean {
  return secret.startsWith("whsec_");
}
