import type { LookupAddress } from "node:dns";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isIP } from "node:net";
import type { Clock } from "../../../domain/clock.ts";

/** What the files of the system say about names. */

export const HOSTS_FILE = process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts";
export const RESOLVER_FILE = "/etc/resolv.conf";

const MAX_HOSTS_BYTES = 1024 * 1024;
const MAX_RESOLVER_BYTES = 64 * 1024;
const MAX_DOMAINS = 6;
const MAX_NDOTS = 15;
const LOOK_EVERY_MS = 1000;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** The names that this machine knows by itself: those of its hosts file, and `localhost` (RFC 6761 §6.3). */
export function createHostsFile(
  path: string,
  clock: Pick<Clock, "now">,
): (name: string) => readonly LookupAddress[] | undefined {
  const read = createRereadFile(path, MAX_HOSTS_BYTES, clock, parseHosts);
  return (name) => read().get(name) ?? (/(?:^|\.)localhost$/.test(name) ? LOOPBACK : undefined);
}

function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const byName = new Map<string, LookupAddress[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/s, "").trim().split(/\s+/);
    const family = isIP(address);
    for (const name of family === 0 ? [] : names) {
      const key = name.toLowerCase();
      const known = byName.get(key);
      if (known === undefined) byName.set(key, [{ address, family }]);
      else if (!known.some((one) => one.address === address)) known.push({ address, family });
    }
  }
  return byName;
}

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
  const read = createRereadFile(path, MAX_RESOLVER_BYTES, clock, parseResolverFile);
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

/**
 * What a small file says, up to `maxBytes`: read when first asked for, and again when it has changed. In the turn of the
 * call: it takes microseconds, and a file on the pool of libuv would wait behind all others there.
 */
function createRereadFile<Value>(
  path: string,
  maxBytes: number,
  clock: Pick<Clock, "now">,
  parse: (text: string) => Value,
): () => Value {
  let version: string | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let value: Value;

  function look(): void {
    let file: number | undefined;
    try {
      file = openSync(path, "r");
      const { mtimeMs, size, ino } = fstatSync(file);
      const found = `${mtimeMs} ${size} ${ino}`;
      if (found === version) return;
      const bytes = Buffer.alloc(Math.min(size, maxBytes));
      value = parse(bytes.toString("utf8", 0, readSync(file, bytes)));
      version = found;
    } catch {
      // Systems without it are not broken: then it says nothing.
      if (version !== "") value = parse("");
      version = "";
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  return () => {
    const now = clock.now();
    if (now - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = now;
      look();
    }
    return value;
  };
}
