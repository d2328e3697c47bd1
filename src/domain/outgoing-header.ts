/** Headers that a user may add to what goes out: all but those that frame, route or vouch for a request. */

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
/** What would let a line end early, or be read differently by the next one, cannot be sent. */
const HEADER_VALUE = /^([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?$/;

const FRAMING =
  /^(?:host|(?:content|transfer)-encoding|content-length|connection|keep-alive|upgrade|te|trailer|expect)$/;
const ROUTING = /^(?:proxy-.*|forwarded|x-forwarded-.*|x-real-ip|via)$/;
/** With one of these, a cloud's metadata service would believe that the request comes from the machine's owner. */
const CLOUD_METADATA = /^(?:metadata|metadata-.*|x-metadata-.*|x-google-metadata-.*|x-aws-ec2-.*|x-identity-header)$/;
/** Names with "signature" in them are kept for `signature_header`. */
const OURS =
  /^(?:content-type|accept-encoding|user-agent|traceparent|tracestate|webhook-.*|x-webhook-.*|.*signature.*)$/;
const NEVER_THE_SIGNATURE =
  /^(?:content-type|accept-encoding|trace.*|user-agent|webhook-.*|x-webhook-(?:id|event|timestamp|attempt))$/;
/** In every delivery; a provider's own signature headers are not among them. */
const ALWAYS_OURS =
  /^(?:content-type|accept-encoding|trace(?:parent|state)|webhook-(?:id|timestamp|signature)|x-webhook-(?:id|event|timestamp|attempt))$/;

export function isHeaderName(name: string): boolean {
  return HEADER_NAME.test(name);
}

/** What is wrong with a header that a user adds; undefined when nothing is. */
export function findHeaderProblem(name: string, value: string): string | undefined {
  const problem = findNameProblem(name.toLowerCase(), OURS);
  if (problem !== undefined || HEADER_VALUE.test(value)) return problem;
  return "must be printable ASCII without spaces at its ends";
}

/** The one header whose name users choose, and whose value is ours. */
export function findSignatureHeaderProblem(name: string): string | undefined {
  return findNameProblem(name.toLowerCase(), NEVER_THE_SIGNATURE);
}

/** A header of a received request that is handed on; its value is the sender's. */
export function findForwardedNameProblem(name: string): string | undefined {
  return findNameProblem(name.toLowerCase(), ALWAYS_OURS);
}

function findNameProblem(lowerName: string, ours: RegExp): string | undefined {
  if (!isHeaderName(lowerName)) return "has a name that HTTP does not allow";
  if (FRAMING.test(lowerName)) return "belongs to the connection and cannot be chosen";
  if (ROUTING.test(lowerName)) return "speaks for a proxy and cannot be chosen";
  if (CLOUD_METADATA.test(lowerName)) return "is one that cloud metadata services trust";
  return ours.test(lowerName) ? "is set by the gateway" : undefined;
}
