import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { isLoopbackHost, isSameIp, parseIp, parseUrl } from "../../model/addresses.ts";
import { portOf } from "./destination.ts";

/**
 * The URLs where this gateway receives webhooks: a subscription that delivers there creates a loop, unless it is
 * allowed to.
 */
export interface OwnUrls {
  /** Returns why a destination may not be used; undefined when it leads elsewhere, as far as is known without DNS. */
  findProblem(url: string): string | undefined;
  /** Called when the server listens: its port may be any free one. */
  noteListening(url: string): void;
}

export interface OwnUrlsOptions {
  publicUrl: string | undefined;
  /** As configured. */
  host: string;
  port: number;
  /** The addresses of this machine. */
  listAddresses: () => readonly string[];
}

export function createOwnUrls({ publicUrl, host, port, listAddresses }: OwnUrlsOptions): OwnUrls {
  const outside = publicUrl === undefined ? undefined : new URL(publicUrl);
  let ownPort = port;

  function isPublic(url: URL): boolean {
    if (outside === undefined || nameOf(url) !== nameOf(outside)) return false;
    // A proxy in front usually serves both ports and redirects from one to the other.
    const isUsual = [portOf(url), portOf(outside)].every((one) => one === 80 || one === 443);
    if (!isUsual && portOf(url) !== portOf(outside)) return false;
    const folder = plainPath(outside).replace(/\/$/, "");
    const path = plainPath(url);
    return path === folder || path.startsWith(`${folder}/`);
  }

  function isListening(url: URL): boolean {
    if (portOf(url) !== ownPort) return false;
    const name = nameOf(url);
    if (name === host.toLowerCase()) return true;
    const isEverywhere = host === "0.0.0.0" || host === "::";
    const bytes = isIP(name) > 0 ? parseIp(name) : undefined;
    if (isLoopbackHost(name)) return isEverywhere || isLoopbackHost(host);
    if (!isEverywhere || bytes === undefined) return false;
    return bytes.every((byte) => byte === 0) || listAddresses().some((own) => isSameIp(bytes, parseIp(own) ?? []));
  }

  function findProblem(text: string): string | undefined {
    const url = parseUrl(text);
    if (url === undefined) return undefined;
    if (!isPublic(url) && !isListening(url)) return undefined;
    return "it leads back to this gateway; allow_own_url allows that.";
  }

  return {
    findProblem,
    noteListening(url) {
      ownPort = portOf(new URL(url));
    },
  };
}

/** The addresses of this machine. */
export function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}

/** Many proxies treat `//in` and `/%69n` like `/in`. */
function plainPath({ pathname }: URL): string {
  const path = pathname.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return path.replace(/\/{2,}/g, "/");
}

function nameOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.+$/, "");
}
