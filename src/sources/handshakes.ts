import { Type } from "typebox";
import { PosthornError } from "../model/errors.ts";
import { textsOption, wholeNumber } from "./kind-options.ts";
import { findHeader } from "./signatures.ts";
import type { ArrivedRequest, KindAnswer, KindSettings } from "./source-kind.ts";

/**
 * github.com/cloudevents/spec, http-webhook.md §4: before a sender delivers, it asks with OPTIONS whether it may. So
 * nobody can point a sender at a server that does not agree.
 */

export const AbuseProtectionOptions = {
  allowed_origins: Type.Optional(
    Type.Array(Type.String({ pattern: "^(\\*|[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?)$" }), {
      maxItems: 100,
      description: "Senders that may deliver here, by their `WebHook-Request-Origin`, or `*` for all",
      examples: [["eventgrid.azure.net"]],
    }),
  ),
  allowed_rate: wholeNumber(1, 1_000_000, "The requests per minute that senders may send; no limit by default"),
};

/** Undefined for other requests. Throws for a sender that may not deliver. */
export function answerPermission(
  request: ArrivedRequest,
  settings: KindSettings,
  usual: readonly string[] = [],
): KindAnswer | undefined {
  if (request.method !== "OPTIONS") return undefined;
  const origin = findHeader(request, "webhook-request-origin");
  if (origin === undefined) throw new PosthornError("bad_request", "The header WebHook-Request-Origin is missing.");
  const given = textsOption(settings, "allowed_origins");
  const allowed = given.length === 0 ? usual : given;
  if (!allowed.some((one) => one === "*" || one.toLowerCase() === origin.toLowerCase())) {
    throw new PosthornError(
      "address_not_allowed",
      `The source "${settings.source}" does not allow ${JSON.stringify(origin)} to deliver; its allowed_origins list who may.`,
    );
  }
  const rate = settings.options["allowed_rate"];
  const asksForRate = findHeader(request, "webhook-request-rate") !== undefined;
  return {
    status: 200,
    headers: {
      allow: "POST",
      "webhook-allowed-origin": origin,
      ...((asksForRate || rate !== undefined) && {
        "webhook-allowed-rate": typeof rate === "number" ? `${rate}` : "*",
      }),
    },
  };
}

/** Longer than any provider's challenge. */
const MAX_CHALLENGE_LENGTH = 4096;

/** Returns a challenge as plain text, so that no browser treats it as a page. */
export function echoChallenge(challenge: string): KindAnswer {
  if (challenge === "" || challenge.length > MAX_CHALLENGE_LENGTH) {
    throw new PosthornError("bad_request", `A challenge has 1 to ${MAX_CHALLENGE_LENGTH} characters.`);
  }
  return {
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: challenge,
  };
}

export function jsonAnswer(body: string, status = 200): KindAnswer {
  return { status, headers: { "content-type": "application/json" }, body };
}
