import type { IncomingMessage } from "node:http";
import { PosthornError } from "../../domain/errors.ts";
import { parseUrl } from "../../domain/parse-url.ts";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * A browser adds a cookie to whatever a page asks for: so what changes something must come from the gateway's own pages.
 * `Sec-Fetch-Site` cannot be set by a page; browsers that do not send it (plain http) send `Origin`. A request with
 * neither comes from no browser, and has no business with a cookie.
 */
export function requireOwnOrigin(request: IncomingMessage, publicUrl: (request: IncomingMessage) => string): void {
  if (SAFE_METHODS.has(request.method ?? "")) return;
  const { origin } = request.headers;
  if (isFromOwnPage(request, publicUrl)) return;
  throw new PosthornError(
    "other_origin",
    `This request comes from ${origin ?? "nowhere"}, and not from the gateway's own page. Programs send a key as ` +
      "Authorization: Bearer KEY.",
  );
}

/** For who brings a key in the body: a program has no origin, and a page of another site has another. */
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
