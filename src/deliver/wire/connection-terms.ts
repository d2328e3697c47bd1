import { constants, createHash } from "node:crypto";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import { parseAllowedIps } from "../../domain/allowed-ips.ts";
import type { IpRange } from "../../domain/ip-address.ts";

/**
 * What a subscription demands of its connections beyond what all demand. Connections are shared only among requests
 * with the same terms: another's may lead to an address that these refuse, or speak with another's certificate.
 */
export interface ConnectionTerms {
  /** The same for the same terms; tells nothing about the key in them. */
  readonly id: string;
  readonly allowedIps: readonly IpRange[] | undefined;
  /** Made when first used, and once: reading certificates takes longer than a handshake. */
  secureContext(): SecureContext | undefined;
  /** For a redirect to another origin, which must not be shown the client certificate. */
  readonly elsewhere: ConnectionTerms | undefined;
}

interface TlsIdentity {
  cert: string;
  key: string;
}

/** For a token endpoint, which may be known to the destination's own authority or to all the world. */
export function createTokenTerms(ca: string | undefined): ConnectionTerms | undefined {
  return ca === undefined ? undefined : createConnectionTerms(undefined, [...rootCertificates, ca].join("\n"));
}

/** Undefined when there is nothing to demand. `identity`: the client's certificate and its key. */
export function createConnectionTerms(
  allowedIps: readonly string[] | undefined,
  ca?: string,
  identity?: TlsIdentity,
): ConnectionTerms | undefined {
  const isPlain = ca === undefined && identity === undefined;
  if (isPlain && allowedIps === undefined) return undefined;
  let context: SecureContext | undefined;
  const terms: ConnectionTerms = {
    id: createHash("sha256")
      .update(JSON.stringify([allowedIps, ca, identity?.cert, identity?.key]))
      .digest("base64"),
    allowedIps: allowedIps === undefined ? undefined : parseAllowedIps(allowedIps),
    secureContext() {
      if (isPlain) return undefined;
      return (context ??= createSecureContext({
        secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
        ...(ca === undefined ? {} : { ca }),
        ...identity,
      }));
    },
    get elsewhere() {
      return identity === undefined ? terms : withoutIdentity;
    },
  };
  const withoutIdentity = identity === undefined ? undefined : createConnectionTerms(allowedIps, ca);
  return terms;
}
