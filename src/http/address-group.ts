import { parseIp } from "../domain/ip-address.ts";

/**
 * Who is counted as one: an IPv4 address, or the half of an IPv6 address that a network gives to one customer, who has
 * more addresses in it than anybody could count.
 */
export function groupOf(address: string): string {
  const bytes = parseIp(address);
  if (bytes === undefined || bytes.length === 4) return address;
  return `${Buffer.from(bytes.slice(0, 8)).toString("hex")}/64`;
}
