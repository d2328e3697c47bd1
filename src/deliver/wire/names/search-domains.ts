import type { Clock } from "../../../domain/clock.ts";
import { createRereadFile } from "./reread-file.ts";

export const RESOLVER_FILE = "/etc/resolv.conf";

const MAX_BYTES = 64 * 1024;
const MAX_DOMAINS = 6;
const MAX_NDOTS = 15;

interface Search {
  domains: readonly string[];
  /** A name with fewer dots is looked for in the domains, too. */
  ndots: number;
}

/**
 * The names that a short one may stand for, as the resolver's file says (`search`, `ndots`). Unlike the C library it puts
 * the name as it is first, so that nobody's domain can stand in front of a name of the public DNS.
 */
export function createSearchDomains(path: string, clock: Pick<Clock, "now">): (name: string) => readonly string[] {
  const read = createRereadFile({ path, maxBytes: MAX_BYTES, clock, parse: parseResolverFile });
  return (name) => {
    // A dot at its end says that the name is whole.
    if (name.endsWith(".")) return [name.replace(/\.+$/, "")];
    const { domains, ndots } = read();
    return name.split(".").length - 1 < ndots ? [name, ...domains.map((domain) => `${name}.${domain}`)] : [name];
  };
}

function parseResolverFile(text: string): Search {
  let domains: string[] = [];
  let ndots = 1;
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line
      .replace(/[#;].*/s, "")
      .trim()
      .split(/\s+/);
    // The last of them counts.
    if (keyword === "search" || keyword === "domain") domains = values;
    if (keyword !== "options") continue;
    for (const value of values) ndots = Number(/^ndots:(\d{1,3})$/.exec(value)?.[1] ?? ndots);
  }
  const isName = (domain: string) => /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?$/.test(domain);
  return {
    domains: domains
      .filter(isName)
      .slice(0, MAX_DOMAINS)
      .map((domain) => domain.replace(/\.$/, "").toLowerCase()),
    ndots: Math.min(ndots, MAX_NDOTS),
  };
}
