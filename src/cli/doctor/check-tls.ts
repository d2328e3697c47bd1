import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "../../config/settings-tree.ts";
import { createAddressGuard } from "../../destinations/wire/address-guard.ts";
import { createGuardedConnect, type Connected, type Peer } from "../../destinations/wire/guarded-connect.ts";
import { openNameLookup } from "../../destinations/wire/names/name-lookup.ts";
import { describe } from "../../destinations/wire/network-fault.ts";
import { createNotedCertificates } from "../../destinations/wire/noted-certificates.ts";
import { parseEgressProxy } from "../../destinations/wire/proxy-tunnel.ts";
import { createSystemClock } from "../../model/clock.ts";
import type { Judge } from "./findings.ts";
import type { HttpsOrigin } from "./https-origins.ts";

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
export async function checkDestinations(origins: readonly HttpsOrigin[], reach: Reach, judge: Judge): Promise<void> {
  if (origins.length === 0) return judge("ok", "no destination with https is known");
  const waiting = origins.slice(0, MAX_ORIGINS);
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await checkOne(next, reach, judge);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (origins.length > MAX_ORIGINS) {
    judge(
      "warning",
      `${origins.length - MAX_ORIGINS} more were not checked: this command checks at most ${MAX_ORIGINS}`,
    );
  }
}

async function checkOne({ origin, ca, hasSealed }: HttpsOrigin, reach: Reach, judge: Judge): Promise<void> {
  const found = await shakeHands(new URL(origin), ca, reach);
  if (!("error" in found)) return judgeEnd(origin, found.notAfter, judge);
  const code = (found.error as NodeJS.ErrnoException).code ?? "";
  const reason = describe(found.error);
  if (UNKNOWN_AUTHORITY.test(code) && hasSealed) {
    return judge("warning", `${origin}: ${reason}; unless its subscription names the authority, deliveries fail`);
  }
  if (CERTIFICATE_FAULT.test(code)) {
    return judge(
      "problem",
      `${origin}: ${reason}. Deliveries fail until its certificate is renewed or its chain is complete`,
    );
  }
  judge("warning", `${origin} could not be reached: ${reason}`);
}

function shakeHands({ protocol, hostname, port }: URL, ca: string | undefined, reach: Reach) {
  const clock = createSystemClock();
  const names = openNameLookup({ clock });
  const certificates = createNotedCertificates(clock);
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

export function judgeEnd(place: string, notAfter: number | undefined, judge: Judge): void {
  if (notAfter === undefined) return judge("ok", `${place} has a trusted certificate`);
  const leftMs = notAfter - Date.now();
  const end = new Date(notAfter).toISOString().slice(0, 10);
  if (leftMs < 0) return judge("problem", `${place}: the certificate expired on ${end}; renew it`);
  const days = `${Math.floor(leftMs / DAY_MS)} days`;
  if (leftMs < SOON_MS) return judge("warning", `${place}: the certificate expires in ${days}, on ${end}; renew it`);
  judge("ok", `${place} has a trusted certificate, for ${days} yet`);
}

/** The certificate of a gateway that serves https itself. Loading the configuration has checked that the key fits. */
export function checkOwnCertificate({ tlsCert }: Config, judge: Judge): void {
  if (tlsCert === undefined) return;
  const notAfter = Date.parse(new X509Certificate(readFileSync(tlsCert)).validTo);
  judgeEnd(`tls_cert ${tlsCert}`, notAfter, judge);
}
