import { isIPv4, isIPv6, isIP } from "node:net";
import type { FieldProblem } from "./subscription-rules.ts";

/**
 * Undefined when the text is not a URL. Does not use `URL.canParse`: in Node 20, once V8 has optimised it, it rejects
 * every URL that contains a letter such as ü.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Parses a URL query: a name that is given several times has a list of values. */
export function parseQuery(text: string): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, value);
    else if (typeof known === "string") values.set(name, [known, value]);
    else known.push(value);
  }
  return Object.fromEntries(values);
}

/** IP addresses as bytes: 4 of them or 16. An IPv4-mapped IPv6 address is the IPv4 address inside it. */
export type IpBytes = readonly number[];

export interface IpRange {
  bytes: IpBytes;
  bits: number;
}

export function parseIp(text: string): IpBytes | undefined {
  if (isIPv4(text)) return text.split(".").map(Number);
  const zoneAt = text.indexOf("%");
  const address = zoneAt < 0 ? text : text.slice(0, zoneAt);
  if (!isIPv6(address)) return undefined;
  const bytes = expandIpv6(address);
  return isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. Bits beyond the prefix are ignored. */
export function parseIpRange(text: string): IpRange | undefined {
  const slashAt = text.indexOf("/");
  const address = slashAt < 0 ? text : text.slice(0, slashAt);
  const bytes = parseIp(address);
  if (bytes === undefined || address.includes("%")) return undefined;
  const maxBits = bytes.length * 8;
  if (slashAt < 0) return { bytes, bits: maxBits };
  const prefix = text.slice(slashAt + 1);
  if (!/^\d{1,3}$/.test(prefix)) return undefined;
  const isMappedRange = bytes.length === 4 && address.includes(":");
  const bits = Number(prefix) - (isMappedRange ? 96 : 0);
  return bits < 0 || bits > maxBits ? undefined : { bytes, bits };
}

export function isInRange(address: IpBytes, range: IpRange): boolean {
  if (address.length !== range.bytes.length) return false;
  let bits = range.bits;
  for (let at = 0; bits > 0; at++, bits -= 8) {
    const mask = bits >= 8 ? 0xff : 0xff & (0xff << (8 - bits));
    if ((((address[at] ?? 0) ^ (range.bytes[at] ?? 0)) & mask) !== 0) return false;
  }
  return true;
}

export function isSameIp(one: IpBytes, other: IpBytes): boolean {
  return one.length === other.length && one.every((value, at) => value === other[at]);
}

/** A host name or address that only this machine can reach; IPv6 with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  const bytes = parseIp(name);
  if (bytes === undefined) return /(?:^|\.)localhost$/.test(name);
  return bytes.length === 4 ? bytes[0] === 127 : bytes.every((byte, at) => byte === (at === 15 ? 1 : 0));
}

function expandIpv6(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const before = readGroups(head);
  const after = tail === undefined ? [] : readGroups(tail);
  const zeros = Array.from({ length: 16 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

function readGroups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function isMapped(bytes: IpBytes): boolean {
  return bytes.slice(0, 10).every((value) => value === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
}

/**
 * The unit that limits apply to: an IPv4 address, or the first half of an IPv6 address, because one customer usually
 * has all addresses of the second half.
 */
export function addressGroupOf(address: string): string {
  const bytes = parseIp(address);
  if (bytes === undefined || bytes.length === 4) return address;
  return `${Buffer.from(bytes.slice(0, 8)).toString("hex")}/64`;
}

/** `allowed_ips` of a subscription: the ranges that must contain the destination's address, whatever DNS answers. */

export function parseAllowedIps(texts: readonly string[]): readonly IpRange[] {
  return texts.flatMap((text) => parseIpRange(text) ?? []);
}

export function isAllowedIp(address: string, ranges: readonly IpRange[]): boolean {
  const bytes = parseIp(address);
  return bytes !== undefined && ranges.some((range) => isInRange(bytes, range));
}

export function findRangeProblem(text: string): string | undefined {
  return parseIpRange(text) === undefined
    ? "is not a CIDR; write for example 203.0.113.0/24 or 2001:db8::/32"
    : undefined;
}

export function checkAllowedIps(texts: readonly string[] | null | undefined, url: string): FieldProblem[] {
  const problems = (texts ?? []).flatMap((text, index) => {
    const message = findRangeProblem(text);
    return message === undefined ? [] : [{ field: `allowed_ips[${index}]`, message }];
  });
  const host = parseUrl(url)?.hostname.replace(/^\[|\]$/g, "") ?? "";
  if (!texts || problems.length > 0 || isIP(host) === 0 || isAllowedIp(host, parseAllowedIps(texts))) return problems;
  return [
    { field: "allowed_ips", message: `does not contain ${host}, the address in the url: nothing could be delivered` },
  ];
}
