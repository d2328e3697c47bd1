import type { IncomingMessage } from "node:http";
import { PosthornError } from "../domain/errors.ts";

/**
 * What Node's parser lets through although a proxy in front may read it in another way: then two requests could be made
 * of one (RFC 9112 §3.2, §6.1).
 */
export function findAmbiguity(request: IncomingMessage): PosthornError | undefined {
  if (request.httpVersionMinor === 0 && request.headers["transfer-encoding"] !== undefined) {
    return new PosthornError("bad_request", "HTTP/1.0 knows no Transfer-Encoding. Send Content-Length, or HTTP/1.1.");
  }
  return hasSeveralHosts(request.rawHeaders)
    ? new PosthornError("bad_request", "The request has more than one Host header. Send one.")
    : undefined;
}

function hasSeveralHosts(names: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < names.length; i += 2) {
    const name = names[i] as string;
    // The length first: it is asked of every header of every request.
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}
