import type { IncomingHttpHeaders } from "node:http";
import { isCredentialHeader } from "../domain/credential-header.ts";

export interface RequestFacts {
  method: string;
  path: string;
  query: string;
  remoteAddress: string;
  headers: IncomingHttpHeaders;
}

/** What of a request is kept beside its body: as JSON, secrets masked. */
export function describeRequest(request: RequestFacts): string {
  return JSON.stringify({
    method: request.method,
    path: request.path,
    query: request.query,
    remote_address: request.remoteAddress,
    headers: maskHeaders(request.headers),
  });
}

function maskHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  let masked: IncomingHttpHeaders | undefined;
  for (const name in headers) {
    if (!isCredentialHeader(name)) continue;
    masked ??= { ...headers };
    masked[name] = "***";
  }
  return masked ?? headers;
}
