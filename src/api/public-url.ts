import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";

export interface PublicUrlOptions {
  /** POSTHORN_PUBLIC_URL; without it the URL is derived from the request. */
  publicUrl: string | undefined;
  /** Whether `X-Forwarded-*` headers from the other end of the connection are trusted. */
  isFromTrustedProxy: (request: IncomingMessage) => boolean;
}

/** The URL that the sender used: some signature schemes include it. */
export function createPublicUrl({ publicUrl, isFromTrustedProxy }: PublicUrlOptions) {
  const base = publicUrl?.replace(/\/+$/, "");
  return (request: IncomingMessage): string => {
    const target = request.url ?? "/";
    if (base !== undefined) return base + target;
    const isTrusted = isFromTrustedProxy(request);
    const protocol = (isTrusted && firstOf(request.headers["x-forwarded-proto"])) || ownProtocol(request);
    const host = (isTrusted && firstOf(request.headers["x-forwarded-host"])) || (request.headers.host ?? "localhost");
    return `${protocol}://${host}${target}`;
  };
}

/** The public URL without the path of the request itself. */
export function publicBaseOf(publicUrl: (request: IncomingMessage) => string, request: IncomingMessage): string {
  const url = publicUrl(request);
  return url.slice(0, url.length - (request.url ?? "/").length);
}

function ownProtocol({ socket }: IncomingMessage): string {
  return (socket as Partial<TLSSocket>).encrypted === true ? "https" : "http";
}

/** With several proxies, the first value is from the one next to the sender. */
function firstOf(value: string | string[] | undefined): string | undefined {
  const [first] = (Array.isArray(value) ? value : [value ?? ""]).flatMap((one) => one.split(","));
  const text = first?.trim();
  return text === "" ? undefined : text;
}
