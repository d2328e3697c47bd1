import { eventTypeOf, findTime, identityOf, oneEvent } from "./request-reading.ts";
import { findHeader, checkBodyHmac, badSignature } from "./signatures.ts";
import type { ArrivedRequest, PushedSourceKind } from "./source-kind.ts";

/** It names no limit, and a product may have two thousand variants: some megabytes. */
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * shopify.dev/docs/apps/build/webhooks. The webhook id stays the same when a delivery is repeated; the event id is not
 * taken, because one action of a merchant may cause webhooks about several things.
 */
export const shopify: PushedSourceKind = {
  name: "shopify",
  needsSecret: true,
  maxBytes: MAX_BYTES,
  verify(request, settings) {
    return checkBodyHmac(signatureOf(request), settings, request.body, "base64");
  },
  replayMark: signatureOf,
  events(request) {
    const type = eventTypeOf("shopify", shopifyHeader(request, "topic"));
    const identity = identityOf(shopifyHeader(request, "webhook-id"));
    return oneEvent(type, identity, findTime(shopifyHeader(request, "triggered-at")));
  },
};

function signatureOf(request: ArrivedRequest): string {
  const given = shopifyHeader(request, "hmac-sha256");
  if (given === undefined) throw badSignature("The header x-shopify-hmac-sha256 is missing.");
  return given;
}

/** Its newer events have headers without the `x-`. */
function shopifyHeader(request: ArrivedRequest, name: string): string | undefined {
  return findHeader(request, `x-shopify-${name}`) ?? findHeader(request, `shopify-${name}`);
}
