import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import { parseIp } from "../domain/ip-address.ts";

/** Whether an address is one of the trusted proxies'. */
function createTrust(trustedProxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const cidr of trustedProxies) {
    const [address = "", bits] = cidr.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    trusted.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return (address) => trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** Whether what forwarded a request is believed. */
export function createProxyTrust(trustedProxies: readonly string[]): (request: IncomingMessage) => boolean {
  const isTrusted = createTrust(trustedProxies);
  return (request) => trustedProxies.length > 0 && isTrusted(plain(request.socket.remoteAddress ?? ""));
}

/** Addresses whose connections and mistakes are not counted: they stand for many others, or for the machine itself. */
export function createExemption(trustedProxies: readonly string[]): (address: string) => boolean {
  const isExempt = createTrust(["127.0.0.0/8", "::1/128", ...trustedProxies]);
  return (address) => {
    const shown = plain(address);
    // A connection over a file has no address.
    return isIP(shown) === 0 || isExempt(shown);
  };
}

/** Who sent a request: `X-Forwarded-For` is believed only as far as trusted proxies wrote it. */
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

/**
 * Who is counted as one: an IPv4 address, or the half of an IPv6 address that a network gives to one customer, who has
 * more addresses in it than anybody could count.
 */
export function groupOf(address: string): string {
  const bytes = parseIp(address);
  if (bytes === undefined || bytes.length === 4) return address;
  return `${Buffer.from(bytes.slice(0, 8)).toString("hex")}/64`;
}

function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
