import { constants, createHash } from "node:crypto";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import { parseAllowedIps, type IpRange } from "../../model/addresses.ts";

/**
 * What a subscription requires of its connections beyond the rules for all. Connections are shared only among requests
 * with the same terms: a connection of another subscription may lead to an address that these terms refuse, or use
 * another client certificate.
 */
export interface ConnectionTerms {
  /** The same for the same terms, without revealing the key in them. */
  readonly id: string;
  readonly allowedIps: readonly IpRange[] | undefined;
  /** Created once, at first use: reading certificates takes longer than a handshake. */
  secureContext(): SecureContext | undefined;
  /** The terms for a redirect to another origin, which must not get the client certificate. */
  readonly elsewhere: ConnectionTerms | undefined;
}

interface TlsIdentity {
  cert: string;
  key: string;
}

/** For a token endpoint, whose certificate may come from the destination's own authority or from a public one. */
export function createTokenTerms(ca: string | undefined): ConnectionTerms | undefined {
  return ca === undefined ? undefined : createConnectionTerms(undefined, [...rootCertificates, ca].join("\n"));
}

/** Undefined when there are no requirements. `identity`: the client's certificate and its key. */
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
