import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";

/** Whether an address belongs to a trusted proxy. */
function createTrust(trustedProxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const cidr of trustedProxies) {
    const [address = "", bits] = cidr.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    trusted.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return (address) => trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** Whether the forwarding headers of a request are trusted. */
export function createProxyTrust(trustedProxies: readonly string[]): (request: IncomingMessage) => boolean {
  const isTrusted = createTrust(trustedProxies);
  return (request) => trustedProxies.length > 0 && isTrusted(plain(request.socket.remoteAddress ?? ""));
}

/** Addresses without limits: trusted proxies, which stand for many clients, and the machine itself. */
export function createExemption(trustedProxies: readonly string[]): (address: string) => boolean {
  const isExempt = createTrust(["127.0.0.0/8", "::1/128", ...trustedProxies]);
  return (address) => {
    const shown = plain(address);
    // A connection over a Unix socket has no address.
    return isIP(shown) === 0 || isExempt(shown);
  };
}

/** The address of the sender. `X-Forwarded-For` is trusted only as far as trusted proxies wrote it. */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return (request) => plain(request.socket.remoteAddress ?? "");
  const isTrusted = createTrust(trustedProxies);
  return (request) => {
    let address = plain(request.socket.remoteAddress ?? "");
    const forwarded = request.headers["x-forwarded-for"];
    const hops = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",").reverse();
    for (const hop of hops) {
      const next = plain(hop.trim());
      if (!isTrusted(address) || isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}

function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
