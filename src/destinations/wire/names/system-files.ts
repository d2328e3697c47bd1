import type { LookupAddress } from "node:dns";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isIP } from "node:net";
import type { Clock } from "../../../model/clock.ts";

/** Reads the system's files about names. */

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

/** The names that this machine knows without DNS: those of its hosts file, and `localhost` (RFC 6761 §6.3). */
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
  /** A name with fewer dots is also looked up in the search domains. */
  ndots: number;
}

/**
 * The full names that a short name may stand for, from the resolver's file (`search`, `ndots`). Unlike the C library,
 * it tries the name itself first, so that no search domain can hide a name of the public DNS.
 */
export function createSearchDomains(path: string, clock: Pick<Clock, "now">): (name: string) => readonly string[] {
  const read = createRereadFile(path, MAX_RESOLVER_BYTES, clock, parseResolverFile);
  return (name) => {
    // A dot at the end marks a full name.
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
    // The last line of this kind counts.
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
 * The parsed content of a small file, up to `maxBytes`: read at first use, and again when it has changed. Read
 * synchronously: that takes microseconds, while an asynchronous read would wait behind all others in libuv's pool.
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
      // A missing file is not an error: it counts as empty.
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
