import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "../../config/settings-tree.ts";
import { createAddressGuard } from "../../destinations/wire/address-guard.ts";
import {
  createGuardedConnect,
  type Connected,
  type Peer,
  createKnownCertificates,
} from "../../destinations/wire/guarded-connect.ts";
import { openNameLookup } from "../../destinations/wire/names/name-lookup.ts";
import { describe } from "../../destinations/wire/network-fault.ts";
import { parseEgressProxy } from "../../destinations/wire/proxy-tunnel.ts";
import { createSystemClock } from "../../model/clock.ts";
import { parseUrl } from "../../model/addresses.ts";
import type { Report } from "./findings.ts";

const DAY_MS = 86_400_000;
/** The same as the default of the alert `certificate_expiring`. */
const SOON_MS = 14 * DAY_MS;
const CONNECT_MS = 5000;
const AT_ONCE = 8;
const MAX_ORIGINS = 200;
/** Error codes of Node.js for a peer that was reached but could not be verified. */
const CERTIFICATE_FAULT = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/;
const UNKNOWN_AUTHORITY = /UNABLE_TO|SELF_SIGNED/;

type Reach = Pick<Config, "allowPrivateDestinations" | "egressProxy">;

/** Makes a TLS handshake with each destination, as the gateway does; sends no request. */
export async function checkDestinations(origins: readonly HttpsOrigin[], reach: Reach, report: Report): Promise<void> {
  if (origins.length === 0) return report("ok", "no destination with https is known");
  const waiting = origins.slice(0, MAX_ORIGINS);
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await checkOne(next, reach, report);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const left = origins.length - MAX_ORIGINS;
  if (left > 0) report("warning", `${left} more were not checked: this command checks at most ${MAX_ORIGINS}`);
}

async function checkOne({ origin, ca, hasSealed }: HttpsOrigin, reach: Reach, report: Report): Promise<void> {
  const found = await shakeHands(new URL(origin), ca, reach);
  if (!("error" in found)) return checkEnd(origin, found.notAfter, report);
  const code = (found.error as NodeJS.ErrnoException).code ?? "";
  const reason = describe(found.error);
  if (UNKNOWN_AUTHORITY.test(code) && hasSealed) {
    return report("warning", `${origin}: ${reason}; unless its subscription names the authority, deliveries fail`);
  }
  if (CERTIFICATE_FAULT.test(code)) {
    const until = "its certificate is renewed or its chain is complete";
    return report("problem", `${origin}: ${reason}. Deliveries fail until ${until}`);
  }
  report("warning", `${origin} could not be reached: ${reason}`);
}

function shakeHands({ protocol, hostname, port }: URL, ca: string | undefined, reach: Reach) {
  const clock = createSystemClock();
  const names = openNameLookup({ clock });
  const certificates = createKnownCertificates(clock);
  const connect = createGuardedConnect({
    guard: createAddressGuard({ allowPrivate: reach.allowPrivateDestinations }),
    clock,
    timeoutMs: CONNECT_MS,
    lookup: names.lookup,
    ca,
    certificates,
    proxy: reach.egressProxy === undefined ? undefined : parseEgressProxy(reach.egressProxy),
  });
  const peer: Peer = {
    protocol,
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 443 : Number(port),
    owner: "",
    terms: undefined,
    tls: {},
    onRead: () => undefined,
  };
  return new Promise<{ error: Error } | { notAfter: number | undefined }>((resolve) => {
    connect(peer, (error: Error | null, made: Connected | null) => {
      made?.socket.destroy();
      names.close();
      resolve(error === null ? { notAfter: certificates.list()[0]?.notAfter } : { error });
    });
  });
}

export function checkEnd(place: string, notAfter: number | undefined, report: Report): void {
  if (notAfter === undefined) return report("ok", `${place} has a trusted certificate`);
  const leftMs = notAfter - Date.now();
  const end = new Date(notAfter).toISOString().slice(0, 10);
  if (leftMs < 0) return report("problem", `${place}: the certificate expired on ${end}; renew it`);
  const days = `${Math.floor(leftMs / DAY_MS)} days`;
  if (leftMs < SOON_MS) return report("warning", `${place}: the certificate expires in ${days}, on ${end}; renew it`);
  report("ok", `${place} has a trusted certificate, for ${days} yet`);
}

/** The certificate of a gateway that serves https itself. Loading the configuration has checked that the key fits. */
export function checkOwnCertificate({ tlsCert }: Config, report: Report): void {
  if (tlsCert === undefined) return;
  const notAfter = Date.parse(new X509Certificate(readFileSync(tlsCert)).validTo);
  checkEnd(`tls_cert ${tlsCert}`, notAfter, report);
}

interface HttpsOrigin {
  origin: string;
  /** Certificate authorities that replace the usual ones, as PEM. */
  ca: string | undefined;
  /** True when encrypted settings could not be read: they may name other authorities. */
  hasSealed: boolean;
}

/** Every `https:` address in the settings of any kind of destination, except parts that a template fills. */
export function collectHttpsOrigins(settings: readonly unknown[]): HttpsOrigin[] {
  const found = new Map<string, HttpsOrigin>();

  function walk(value: unknown, ca: string | undefined, hasSealed: boolean): void {
    if (typeof value === "string") {
      const url = value.startsWith("https://") ? parseUrl(value) : undefined;
      if (url === undefined || /[{}%]/.test(url.hostname)) return;
      found.set(`${ca ?? ""} ${url.origin}`, { origin: url.origin, ca, hasSealed });
    } else if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) walk(inner, ca, hasSealed);
    }
  }

  for (const one of settings) walk(one, findText(one, "ca"), findText(one, "sealed") !== undefined);
  return [...found.values()].sort((a, b) => (a.origin < b.origin ? -1 : 1));
}

function findText(value: unknown, name: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const text = key === name && typeof inner === "string" ? inner : findText(inner, name);
    if (text !== undefined) return text;
  }
  return undefined;
}
