import { PosthornError } from "../../model/errors.ts";
import {
  type IpBytes,
  type IpRange,
  isInRange,
  isSameIp,
  parseIp,
  parseIpRange,
  isLoopbackHost,
  parseUrl,
} from "../../model/addresses.ts";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

type Verdict =
  /** `opened`: allowed only because of the configuration. */
  { allowed: true; opened: boolean } | { allowed: false; reason: string };

interface AddressGuardOptions {
  /** CIDRs open the ranges that they name; `true` opens the machine itself and all private networks. */
  allowPrivate: boolean | readonly string[];
  /** The machine's own public addresses: services there may trust the machine. */
  ownAddresses?: () => readonly string[];
}

const PRIVATE_SETTING = "POSTHORN_ALLOW_PRIVATE_DESTINATIONS";

const MAX_CACHED_VERDICTS = 1000;

/** Opened by `true`, or by name. */
const PRIVATE = [
  rejected("a private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
  rejected("a loopback", "127.0.0.0/8", "::1/128"),
  rejected("a shared (carrier-grade NAT)", "100.64.0.0/10"),
];
/** Link-local and cloud-host addresses are opened only by name: they answer with the machine's own credentials. */
const REJECTED = [
  rejected("a link-local", "169.254.0.0/16", "fe80::/10"),
  rejected("a cloud host's", "168.63.129.16/32"),
  rejected("an unspecified", "0.0.0.0/8"),
  rejected("a reserved", "192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24"),
  rejected("a reserved", "240.0.0.0/4", "2001::/23", "2620:4f:8000::/48"),
  rejected("a documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
  rejected("a benchmarking", "198.18.0.0/15"),
  rejected("a multicast", "224.0.0.0/4", "ff00::/8"),
  rejected("a 6to4", "2002::/16"),
];
const GLOBAL_IPV6 = readRange("2000::/3");

export type AddressGuard = ReturnType<typeof createAddressGuard>;

/**
 * Decides which addresses deliveries may reach. Users choose destinations, so an address is rejected unless it is known
 * to be public or was opened by the configuration. An address that cannot be parsed is rejected too.
 */
export function createAddressGuard(options: AddressGuardOptions) {
  const { allowPrivate, ownAddresses = () => [] } = options;
  const opensAll = allowPrivate === true;
  const openedRanges = typeof allowPrivate === "boolean" ? [] : allowPrivate.map(readRange);
  const cache = new Map<string, { bytes: IpBytes; verdict: Verdict }>();

  function checkBytes(address: string, bytes: IpBytes): Verdict {
    if (openedRanges.some((range) => isInRange(bytes, range))) return { allowed: true, opened: true };
    const holds = ({ ranges }: { ranges: readonly IpRange[] }) => ranges.some((range) => isInRange(bytes, range));
    if (opensAll && PRIVATE.some(holds)) return { allowed: true, opened: true };
    const found = PRIVATE.find(holds) ?? REJECTED.find(holds);
    if (found !== undefined) return reject(address, `${found.label} address`);
    const isGlobal = bytes.length === 4 || isInRange(bytes, GLOBAL_IPV6);
    return isGlobal ? { allowed: true, opened: false } : reject(address, "not a global unicast address");
  }

  function isOwn(bytes: IpBytes): boolean {
    return ownAddresses().some((own) => isSameIp(bytes, parseIp(own) ?? []));
  }

  return {
    /** Whether any private address was opened: then names of private networks may be used too. */
    opensPrivate: opensAll || openedRanges.length > 0,
    check(address: string): Verdict {
      let known = cache.get(address);
      if (known === undefined) {
        const bytes = parseIp(address);
        if (bytes === undefined) return { allowed: false, reason: `${JSON.stringify(address)} is not an IP address.` };
        known = { bytes, verdict: checkBytes(address, bytes) };
        if (cache.size >= MAX_CACHED_VERDICTS) cache.clear();
        cache.set(address, known);
      }
      // The machine's addresses may change while it runs, so this part is never cached.
      if (known.verdict.allowed && !known.verdict.opened && isOwn(known.bytes)) {
        return opensAll ? { allowed: true, opened: true } : reject(address, "an address of this machine");
      }
      return known.verdict;
    },
  };
}

function reject(address: string, label: string): Verdict {
  return {
    allowed: false,
    reason: `${address} is ${label}; name it in ${PRIVATE_SETTING} if deliveries may go there.`,
  };
}

function rejected(label: string, ...ranges: string[]) {
  return { label, ranges: ranges.map(readRange) };
}

function readRange(text: string): IpRange {
  const range = parseIpRange(text.trim());
  if (range !== undefined) return range;
  throw new PosthornError("config_invalid", `${PRIVATE_SETTING}: ${JSON.stringify(text)} is not a CIDR.`, {
    field: PRIVATE_SETTING,
  });
}

/** Rules for the destinations that users configure: for the URL and for the headers sent with every attempt. */

const HTTP_SETTING = "POSTHORN_ALLOW_HTTP_DESTINATIONS";

export interface DestinationRules {
  allowHttp: boolean;
  guard: AddressGuard;
}

/** Ports from 1024 on where databases, brokers and administration tools listen, and never webhook receivers. */
const INTERNAL_PORTS: ReadonlySet<number> = new Set([
  1433, 1521, 2049, 2181, 2375, 2376, 2377, 2379, 2380, 3306, 3389, 4222, 4369, 5432, 5671, 5672, 5900, 5984, 5985,
  5986, 6000, 6379, 6380, 6443, 7000, 7001, 7199, 8300, 8301, 8500, 8600, 9042, 9092, 9160, 9200, 9300, 10250, 10255,
  11211, 15672, 25672, 26379, 27017, 27018, 27019, 28017, 50000, 61616,
]);

export function parseDestination(text: string, rules: DestinationRules, field = "url"): URL {
  const url = parseUrl(text);
  const problem = url === undefined ? "it is not a URL." : findProblem(url, rules);
  if (url === undefined || problem !== undefined) {
    throw new PosthornError("invalid_field", `The destination cannot be used: ${problem}`, { field });
  }
  return url;
}

/** Returns why a destination may not be used, as far as this is known without a DNS lookup. */
export function findProblem(url: URL, rules: DestinationRules): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") return `its scheme is ${url.protocol}, not https:.`;
  if (url.protocol === "http:" && !rules.allowHttp) return `it is not https; ${HTTP_SETTING}=true allows http.`;
  if (url.username !== "" || url.password !== "") return "it has a user name or password in it; use a header.";
  if (url.href.includes("#")) return "it has a fragment (#…), which is never sent.";
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  return isIP(host) > 0 ? findAddressProblem(host, portOf(url), rules.guard) : findNameProblem(url, rules.guard);
}

/** Also used for the addresses that a name resolves to: only the address tells whether the port is allowed there. */
export function findAddressProblem(address: string, port: number, guard: AddressGuard): string | undefined {
  const verdict = guard.check(address);
  if (!verdict.allowed) return verdict.reason;
  return verdict.opened ? undefined : findPortProblem(port);
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function findNameProblem(url: URL, guard: AddressGuard): string | undefined {
  // The addresses that the name resolves to are checked when a connection is opened.
  if (guard.opensPrivate) return undefined;
  const name = url.hostname.replace(/\.+$/, "");
  if (!name.includes(".") || /\.(?:localhost|local|internal)$/.test(name)) {
    return `${JSON.stringify(name)} is a name of a private network; ${PRIVATE_SETTING} allows some or all of them.`;
  }
  return findPortProblem(portOf(url));
}

function findPortProblem(port: number): string | undefined {
  if (port === 80 || port === 443 || (port >= 1024 && !INTERNAL_PORTS.has(port))) return undefined;
  return `port ${port} is not allowed for webhooks, except at addresses that ${PRIVATE_SETTING} names.`;
}

/** The addresses of this machine. */
export function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}

interface OwnUrlsOptions {
  publicUrl: string | undefined;
  /** As configured. */
  host: string;
  port: number;
  /** The addresses of this machine. */
  listAddresses: () => readonly string[];
}

/** The URLs where this gateway receives webhooks: a subscription that delivers there may create a loop. */
export function createOwnUrls({ publicUrl, host, port, listAddresses }: OwnUrlsOptions) {
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
    /** Returns why a destination may not be used; undefined when it leads elsewhere, as far as is known without DNS. */
    findProblem,
    /** Called when the server listens: its port may be any free one. */
    recordListening(url: string): void {
      ownPort = portOf(new URL(url));
    },
  };
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
