import { PosthornError } from "../../model/errors.ts";
import { type IpBytes, type IpRange, isInRange, isSameIp, parseIp, parseIpRange } from "../../model/addresses.ts";

/**
 * Decides which addresses deliveries may reach. Users choose destinations, so an address is refused unless it is known
 * to be public or was opened by the configuration. An address that cannot be parsed is refused too.
 */
export interface AddressGuard {
  judge(address: string): Verdict;
  /** Whether any private address was opened: then names of private networks may be used too. */
  readonly opensPrivate: boolean;
}

export type Verdict =
  /** `opened`: allowed only because of the configuration. */
  { allowed: true; opened: boolean } | { allowed: false; reason: string };

export interface AddressGuardOptions {
  /** CIDRs open the ranges that they name; `true` opens the machine itself and all private networks. */
  allowPrivate: boolean | readonly string[];
  /** The machine's own public addresses: services there may trust the machine. */
  ownAddresses?: () => readonly string[];
}

export const PRIVATE_SETTING = "POSTHORN_ALLOW_PRIVATE_DESTINATIONS";

interface RefusedRange extends IpRange {
  label: string;
  isPrivate: boolean;
}

const MAX_CACHED_VERDICTS = 1000;

/** Link-local and cloud-host addresses are not opened by `true`: they answer with the machine's own credentials. */
const REFUSED: readonly RefusedRange[] = [
  refused("10.0.0.0/8", "a private", true),
  refused("127.0.0.0/8", "a loopback", true),
  refused("172.16.0.0/12", "a private", true),
  refused("192.168.0.0/16", "a private", true),
  refused("100.64.0.0/10", "a shared (carrier-grade NAT)", true),
  refused("169.254.0.0/16", "a link-local"),
  refused("168.63.129.16/32", "a cloud host's"),
  refused("0.0.0.0/8", "an unspecified"),
  refused("192.0.0.0/24", "a reserved"),
  refused("192.0.2.0/24", "a documentation"),
  refused("192.31.196.0/24", "a reserved"),
  refused("192.52.193.0/24", "a reserved"),
  refused("192.88.99.0/24", "a reserved"),
  refused("192.175.48.0/24", "a reserved"),
  refused("198.18.0.0/15", "a benchmarking"),
  refused("198.51.100.0/24", "a documentation"),
  refused("203.0.113.0/24", "a documentation"),
  refused("224.0.0.0/4", "a multicast"),
  refused("240.0.0.0/4", "a reserved"),
  refused("::1/128", "a loopback", true),
  refused("fc00::/7", "a private", true),
  refused("fe80::/10", "a link-local"),
  refused("ff00::/8", "a multicast"),
  refused("2001::/23", "a reserved"),
  refused("2001:db8::/32", "a documentation"),
  refused("2002::/16", "a 6to4"),
  refused("2620:4f:8000::/48", "a reserved"),
  refused("3fff::/20", "a documentation"),
];
const GLOBAL_IPV6 = readRange("2000::/3");

export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const { allowPrivate, ownAddresses = () => [] } = options;
  const opensAll = allowPrivate === true;
  const openedRanges = typeof allowPrivate === "boolean" ? [] : allowPrivate.map(readRange);
  const cache = new Map<string, { bytes: IpBytes; verdict: Verdict }>();

  function judgeBytes(address: string, bytes: IpBytes): Verdict {
    if (openedRanges.some((range) => isInRange(bytes, range))) return { allowed: true, opened: true };
    const range = REFUSED.find((candidate) => isInRange(bytes, candidate));
    if (range !== undefined) {
      return opensAll && range.isPrivate ? { allowed: true, opened: true } : refuse(address, `${range.label} address`);
    }
    const isGlobal = bytes.length === 4 || isInRange(bytes, GLOBAL_IPV6);
    return isGlobal ? { allowed: true, opened: false } : refuse(address, "not a global unicast address");
  }

  function isOwn(bytes: IpBytes): boolean {
    return ownAddresses().some((own) => isSameIp(bytes, parseIp(own) ?? []));
  }

  return {
    opensPrivate: opensAll || openedRanges.length > 0,
    judge(address) {
      let known = cache.get(address);
      if (known === undefined) {
        const bytes = parseIp(address);
        if (bytes === undefined) return { allowed: false, reason: `${JSON.stringify(address)} is not an IP address.` };
        known = { bytes, verdict: judgeBytes(address, bytes) };
        if (cache.size >= MAX_CACHED_VERDICTS) cache.clear();
        cache.set(address, known);
      }
      // The machine's addresses may change while it runs, so this part is never cached.
      if (known.verdict.allowed && !known.verdict.opened && isOwn(known.bytes)) {
        return opensAll ? { allowed: true, opened: true } : refuse(address, "an address of this machine");
      }
      return known.verdict;
    },
  };
}

function refuse(address: string, label: string): Verdict {
  return {
    allowed: false,
    reason: `${address} is ${label}; name it in ${PRIVATE_SETTING} if deliveries may go there.`,
  };
}

function refused(range: string, label: string, isPrivate = false): RefusedRange {
  return { ...readRange(range), label, isPrivate };
}

function readRange(text: string): IpRange {
  const range = parseIpRange(text.trim());
  if (range !== undefined) return range;
  throw new PosthornError("config_invalid", `${PRIVATE_SETTING}: ${JSON.stringify(text)} is not a CIDR.`, {
    field: PRIVATE_SETTING,
  });
}
