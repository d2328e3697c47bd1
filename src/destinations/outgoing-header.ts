import { attemptTrace, partsOf } from "../model/trace-context.ts";
import { headerValue, type HeaderBlock } from "../model/headers.ts";
import type { Attempt } from "./sender.ts";

/** Headers that a user may add to requests: all except those that frame, route or vouch for a request. */

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
/** Excludes everything that could end the line early, or that another server could read differently. */
const HEADER_VALUE = /^([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?$/;

const FRAMING =
  /^(?:host|(?:content|transfer)-encoding|content-length|connection|keep-alive|upgrade|te|trailer|expect)$/;
const ROUTING = /^(?:proxy-.*|forwarded|x-forward(?:ed|er)?(?:-.*)?|via|x-envoy-.*|x-(?:url-)?scheme|front-end-https)$/;
/** A server that trusts one of these takes the sender of a request for somebody else. */
const CLIENT_ADDRESS =
  /(?:^|-)(?:client|real|remote|connecting|connection|originating|socket|external|src|proxyuser|pseudo|appengine-user)-?(?:ip(?:v[46])?|addr|address)$/;
/** A server that trusts one of these takes a request for another one: with another path, host or method. */
const OTHER_REQUEST =
  /^(?:x-(?:original|rewrite|override|backend)-(?:ur[il]|path|host|method|for|proto|forwarded-.*)|x-accel-.*|x-(?:http-)?host(?:-override)?|(?:x-)?(?:http-)?method-override|x-http-method)$/;
/** Set by a proxy to name the user who signed in there: the sender of a webhook is no such user. */
const SIGNED_IN =
  /^(?:x-)?(?:remote|webauth|auth(?:enticated)?|auth-request|authentik|token|user)-(?:user|email|groups?|name|subject)(?:-.*)?$|^(?:x-)?(?:ms-client-principal|goog-authenticated-user|amzn-oidc)(?:-.*)?$/;
/** With one of these, a cloud's metadata service would trust the request as one of the machine's owner. */
const CLOUD_METADATA = /^(?:metadata|metadata-.*|x-metadata-.*|x-google-metadata-.*|x-aws-ec2-.*|x-identity-header)$/;
/** Names that contain "signature" are reserved for `signature_header`. */
const OURS =
  /^(?:content-type|accept-encoding|user-agent|traceparent|tracestate|webhook-.*|x-webhook-.*|x-posthorn-.*|.*signature.*)$/;
const NEVER_THE_SIGNATURE =
  /^(?:content-type|accept-encoding|trace.*|user-agent|webhook-.*|x-posthorn-.*|x-webhook-(?:id|event|timestamp|attempt))$/;
/** Part of every delivery; a provider's own signature headers are not included. */
const ALWAYS_OURS = /^(?:content-type|accept-encoding|trace(?:parent|state)|x-posthorn-.*)$/;
/** The headers of Standard Webhooks belong together: a signature covers the id and the time. */
const STANDARD_WEBHOOKS = ["webhook-id", "webhook-timestamp", "webhook-signature"];
/** Ours too, unless a subscription asks for the sender's. */
const OURS_UNLESS_NAMED: ReadonlySet<string> = new Set([
  ...STANDARD_WEBHOOKS,
  "x-webhook-id",
  "x-webhook-event",
  "x-webhook-timestamp",
  "x-webhook-attempt",
]);

export function isHeaderName(name: string): boolean {
  return HEADER_NAME.test(name);
}

/** The problem with a header that a user adds; undefined when there is none. */
export function findHeaderProblem(name: string, value: string): string | undefined {
  const problem = findNameProblem(name, OURS);
  if (problem !== undefined || HEADER_VALUE.test(value)) return problem;
  return "must be printable ASCII without spaces at its ends";
}

/** The one header whose name users choose and whose value the gateway sets. */
export function findSignatureHeaderProblem(name: string): string | undefined {
  return findNameProblem(name, NEVER_THE_SIGNATURE);
}

/** For a header of a received request that is passed on with the sender's value. */
export function findForwardedNameProblem(name: string): string | undefined {
  const plainName = plainHeaderName(name);
  if (SIGNED_IN.test(plainName)) return "names a user who signed in at a proxy";
  // A server that takes `_` for `-` would get it twice.
  if (OURS_UNLESS_NAMED.has(plainName) && plainName !== name.toLowerCase()) return "is set by the gateway";
  return findNameProblem(name, ALWAYS_OURS);
}

/** Whether the sender's header is passed on only where a subscription names it; in lower case. */
export function isOursUnlessNamed(name: string): boolean {
  return OURS_UNLESS_NAMED.has(name);
}

/** Our headers that a delivery does not have, because the subscription asks for the sender's. All are in lower case. */
export function findLeftOut(forwardHeaders: readonly string[], signatureHeader: string): ReadonlySet<string> {
  const leftOut = new Set(forwardHeaders.filter(isOursUnlessNamed));
  if (STANDARD_WEBHOOKS.some((name) => leftOut.has(name))) for (const name of STANDARD_WEBHOOKS) leftOut.add(name);
  if (forwardHeaders.includes(signatureHeader)) leftOut.add(signatureHeader).add(`${signatureHeader}-next`);
  return leftOut;
}

/** CGI turns both `X-Real-IP` and `X_Real_IP` into `HTTP_X_REAL_IP`: such names count as one. */
export function plainHeaderName(name: string): string {
  const lowerName = name.toLowerCase();
  return lowerName.includes("_") ? lowerName.replaceAll("_", "-") : lowerName;
}

function findNameProblem(name: string, ours: RegExp): string | undefined {
  if (!isHeaderName(name)) return "has a name that HTTP does not allow";
  const plainName = plainHeaderName(name);
  if (FRAMING.test(plainName)) return "belongs to the connection and cannot be chosen";
  if (ROUTING.test(plainName)) return "speaks for a proxy and cannot be chosen";
  if (CLIENT_ADDRESS.test(plainName)) return "says who a request is from and cannot be chosen";
  if (OTHER_REQUEST.test(plainName)) return "changes the path, host or method of the request and cannot be chosen";
  if (CLOUD_METADATA.test(plainName)) return "is one that cloud metadata services trust";
  return ours.test(plainName) ? "is set by the gateway" : undefined;
}

/** The headers of W3C Trace Context for an attempt. An event's trace was checked when the event came in. */
export function traceLines({ event, deliveryId, number, trace }: Attempt): HeaderBlock {
  // The same id as in the header `webhook-id`: all deliveries of an event belong to one trace.
  const of = { id: headerValue(event.originId ?? event.id), trace: event.trace };
  const { traceparent, tracestate } = partsOf(trace ?? attemptTrace(of, deliveryId, number));
  return `traceparent: ${traceparent}\r\n${tracestate === undefined ? "" : `tracestate: ${tracestate}\r\n`}`;
}
