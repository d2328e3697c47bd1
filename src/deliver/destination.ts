import { isIP } from "node:net";
import { PosthornError } from "../domain/errors.ts";
import { parseUrl } from "../domain/parse-url.ts";
import { type AddressGuard, PRIVATE_SETTING } from "./wire/address-guard.ts";

/** What a user may write as a destination: rules on the URL and on the headers sent with every attempt. */

const HTTP_SETTING = "POSTHORN_ALLOW_HTTP_DESTINATIONS";

export interface DestinationRules {
  allowHttp: boolean;
  guard: AddressGuard;
}

/** Ports at 1024 and above where databases, brokers and administration listen, never webhook receivers. */
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

/** What speaks against a destination, as far as it can be known without asking the DNS. */
export function findProblem(url: URL, rules: DestinationRules): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") return `its scheme is ${url.protocol} and not https:.`;
  if (url.protocol === "http:" && !rules.allowHttp) return `it is not https; ${HTTP_SETTING}=true allows http.`;
  if (url.username !== "" || url.password !== "") return "it has a user name or password in it; use a header.";
  if (url.href.includes("#")) return "it has a fragment (#…), which is never sent.";
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  return isIP(host) > 0 ? findAddressProblem(host, portOf(url), rules.guard) : findNameProblem(url, rules.guard);
}

/** Also for addresses that a name led to: only then is it known whether the port may be used there. */
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
  // Whatever the name, the addresses it leads to are judged when a connection is made.
  if (guard.opensPrivate) return undefined;
  const name = url.hostname.replace(/\.+$/, "");
  if (!name.includes(".") || /\.(?:localhost|local|internal)$/.test(name)) {
    return `${JSON.stringify(name)} is a name of a private network; ${PRIVATE_SETTING} allows some or all of them.`;
  }
  return findPortProblem(portOf(url));
}

function findPortProblem(port: number): string | undefined {
  if (port === 80 || port === 443 || (port >= 1024 && !INTERNAL_PORTS.has(port))) return undefined;
  return `port ${port} is not one that webhooks go to, except at addresses that ${PRIVATE_SETTING} names.`;
}
