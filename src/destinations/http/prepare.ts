import { headerLine, maskAll } from "../../model/headers.ts";
import { MASK } from "../../model/secrets.ts";
import { createSigner } from "../../model/signature.ts";
import type { Subscription } from "../../model/subscription.ts";
import { prepareForward } from "../forward.ts";
import { prepareAccess } from "../login.ts";
import { findLeftOut } from "../outgoing-header.ts";
import type { SenderServices } from "../sender.ts";
import { isUrlTemplate } from "./request-templates.ts";
import type { HttpDestination } from "./settings.ts";

export type PreparedRequests = ReturnType<typeof prepareRequests>;

/** What all attempts of one subscription have in common. */
export function prepareRequests(
  subscription: Subscription,
  { userAgent, findOwnUrlProblem, openCredentials }: SenderServices,
) {
  const destination = subscription.destination as HttpDestination;
  const { signatureHeader, allowOwnUrl, forwardHeaders = [] } = destination;
  const isForwarding = subscription.mode === "forward";
  // When the sender's User-Agent is passed on, ours is only for requests without one.
  const handsAgentOn = isForwarding && forwardHeaders.includes("user-agent");
  const access = prepareAccess(destination, subscription.tenantId);
  const headers = access.hasOwnAgent || handsAgentOn ? "" : headerLine("User-Agent", userAgent);
  const leftOut = isForwarding ? findLeftOut(forwardHeaders, signatureHeader.toLowerCase()) : undefined;
  const token = access.tokenClient === undefined ? "" : headerLine("Authorization", MASK);
  // Throws when the name is invalid: requests are written without a check of it.
  headerLine(signatureHeader, "");
  return {
    destination,
    /** The URL has a placeholder for the event's source. */
    hasSource: isUrlTemplate(destination.url),
    findHopProblem: allowOwnUrl ? undefined : findOwnUrlProblem,
    signer: createSigner(subscription.secrets, subscription),
    signatureHeader,
    /** The header for the signature with a rotation's new secret; undefined when there is none. */
    nextHeader: subscription.nextSecret === undefined ? undefined : `${signatureHeader}-Next`,
    headers,
    /** These and the headers for the destination alone, with the subscription's values masked: any may be a secret. */
    recorded: headers + maskAll(access.originHeaders) + token,
    access,
    /** Our headers that a forwarded request does not have, because it has the sender's; undefined when there are none. */
    leftOut: leftOut?.size === 0 ? undefined : leftOut,
    /** Why nothing can be sent at all. The gateway's own URL may have changed since the subscription was created. */
    problem: allowOwnUrl ? undefined : findOwnUrlProblem(destination.url),
    forward: isForwarding
      ? prepareForward(destination, {
          userAgent: handsAgentOn && !access.hasOwnAgent ? userAgent : undefined,
          openCredentials,
        })
      : undefined,
  };
}
