import { isIP } from "node:net";
import { isInRange, parseIp, parseIpRange, type IpRange } from "./ip-address.ts";
import { parseUrl } from "./parse-url.ts";
import type { FieldProblem } from "./subscription-rules.ts";

/** `allowed_ips` of a subscription: the ranges that must contain the destination's address, whatever DNS answers. */

export function parseAllowedIps(texts: readonly string[]): readonly IpRange[] {
  return texts.flatMap((text) => parseIpRange(text) ?? []);
}

export function isAllowedIp(address: string, ranges: readonly IpRange[]): boolean {
  const bytes = parseIp(address);
  return bytes !== undefined && ranges.some((range) => isInRange(bytes, range));
}

export function checkAllowedIps(texts: readonly string[] | null | undefined, url: string): FieldProblem[] {
  if (texts === undefined || texts === null) return [];
  const problems = texts.flatMap((text, index) =>
    parseIpRange(text) === undefined
      ? [
          {
            field: `allowed_ips[${index}]`,
            message: "is not a CIDR; write for example 203.0.113.0/24 or 2001:db8::/32",
          },
        ]
      : [],
  );
  const host = parseUrl(url)?.hostname.replace(/^\[|\]$/g, "");
  if (problems.length > 0 || host === undefined) return problems;
  if (isIP(host) === 0 || isAllowedIp(host, parseAllowedIps(texts))) return [];
  return [
    { field: "allowed_ips", message: `does not contain ${host}, the address in the url: nothing could be delivered` },
  ];
}
