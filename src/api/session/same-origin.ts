import type { IncomingMessage } from "node:http";
import { PosthornError } from "../../model/errors.ts";
import { parseUrl } from "../../model/addresses.ts";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Browsers add the cookie to requests of any page, so a request that changes something must come from our own pages.
 * A page cannot set `Sec-Fetch-Site`; browsers that do not send it (over plain http) send `Origin`. A request with
 * neither does not come from a browser and needs no cookie.
 */
export function requireOwnOrigin(request: IncomingMessage, publicUrl: (request: IncomingMessage) => string): void {
  if (SAFE_METHODS.has(request.method ?? "")) return;
  const { origin } = request.headers;
  if (isFromOwnPage(request, publicUrl)) return;
  throw new PosthornError(
    "other_origin",
    `This request comes from ${origin ?? "an unknown origin"}, not from the gateway's own page. Programs send a key as ` +
      "Authorization: Bearer KEY.",
  );
}

/** For requests with a key in the body: programs send no origin, and pages of other sites send another one. */
export function refuseOtherOrigin(request: IncomingMessage, publicUrl: (request: IncomingMessage) => string): void {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined || site !== undefined) requireOwnOrigin(request, publicUrl);
}

function isFromOwnPage(request: IncomingMessage, publicUrl: (request: IncomingMessage) => string): boolean {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  return site === undefined ? isOwn(origin, [host, hostOf(publicUrl(request))]) : site === "same-origin";
}

function isOwn(origin: string | undefined, hosts: readonly (string | undefined)[]): boolean {
  const host = origin === undefined ? undefined : hostOf(origin);
  return host !== undefined && hosts.includes(host);
}

function hostOf(url: string): string | undefined {
  return parseUrl(url)?.host;
}
