import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { Clock } from "../../../domain/clock.ts";
import { createRereadFile } from "./reread-file.ts";

export const HOSTS_FILE = process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts";

const MAX_BYTES = 1024 * 1024;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** The names that this machine knows by itself: those of its hosts file, and `localhost` (RFC 6761 §6.3). */
export function createHostsFile(
  path: string,
  clock: Pick<Clock, "now">,
): (name: string) => readonly LookupAddress[] | undefined {
  const read = createRereadFile({ path, maxBytes: MAX_BYTES, clock, parse: parseHosts });
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
