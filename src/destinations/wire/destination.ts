import { isIP } from "node:net";
import { PosthornError } from "../../model/errors.ts";
import { parseUrl } from "../../model/addresses.ts";
import { type AddressGuard, PRIVATE_SETTING } from "./address-guard.ts";

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
  const verdict = guard.judge(address);
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
