import { isIP } from "node:net";
import { isLoopbackHost, isSameIp, parseIp } from "../../domain/ip-address.ts";
import { parseUrl } from "../../domain/parse-url.ts";
import { portOf } from "../destination.ts";

/** Where this gateway takes webhooks in: a subscription that delivers there makes a loop, unless it says that it may. */
export interface OwnUrls {
  /** What speaks against a destination; undefined when it leads elsewhere, as far as can be seen without the DNS. */
  findProblem(url: string): string | undefined;
  /** Where it listens, once it does: the port may be any free one. */
  noteListening(url: string): void;
}

export interface OwnUrlsOptions {
  publicUrl: string | undefined;
  /** As configured. */
  host: string;
  port: number;
  /** Of this machine. */
  listAddresses: () => readonly string[];
}

export function createOwnUrls({ publicUrl, host, port, listAddresses }: OwnUrlsOptions): OwnUrls {
  const outside = publicUrl === undefined ? undefined : new URL(publicUrl);
  let ownPort = port;

  function isPublic(url: URL): boolean {
    if (outside === undefined || nameOf(url) !== nameOf(outside)) return false;
    // Whoever stands in front takes both, and sends from the one to the other.
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

/** Many a proxy takes `//in` and `/%69n` for `/in`. */
function plainPath({ pathname }: URL): string {
  const path = pathname.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return path.replace(/\/{2,}/g, "/");
}

function nameOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.+$/, "");
}
