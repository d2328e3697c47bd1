import { X509Certificate, type KeyObject } from "node:crypto";
import { PosthornError } from "../model/errors.ts";
import { parseUrl } from "../model/addresses.ts";
import { badSignature } from "./signatures.ts";

/** Certificates of providers whose requests name the URL of their certificate. */
export interface Certificates {
  /** Throws `bad_signature` for an untrusted or expired certificate, `unavailable` when it cannot be fetched. */
  publicKeyAt(url: string, at: number): Promise<KeyObject>;
}

export interface CertificateRules {
  fetchText(url: string): Promise<string>;
  isTrusted(url: URL): boolean;
}

const MAX_CERTIFICATES = 100;
/** The URL comes from a sender that is not verified yet. */
const MAX_FETCHES = 4;

export function createCertificates({ fetchText, isTrusted }: CertificateRules): Certificates {
  const known = new Map<string, X509Certificate>();
  const fetching = new Map<string, Promise<X509Certificate>>();

  async function load(url: string): Promise<X509Certificate> {
    const text = await fetchText(url).catch((error: unknown) => {
      throw new PosthornError("unavailable", "The provider's certificate cannot be fetched now.", {
        cause: error,
        retryAfterS: 60,
      });
    });
    const certificate = parseCertificate(text);
    if (known.size >= MAX_CERTIFICATES) known.clear();
    known.set(url, certificate);
    return certificate;
  }

  function fetchOnce(url: string): Promise<X509Certificate> {
    const running = fetching.get(url);
    if (running !== undefined) return running;
    if (fetching.size >= MAX_FETCHES) {
      throw new PosthornError("overloaded", "Too many certificates are being fetched.", { retryAfterS: 10 });
    }
    const fetched = load(url).finally(() => fetching.delete(url));
    fetching.set(url, fetched);
    return fetched;
  }

  return {
    async publicKeyAt(url, at) {
      const parsed = parseUrl(url);
      if (parsed === undefined || !isPlainHttps(parsed) || !isTrusted(parsed)) {
        throw badSignature("The URL of the certificate does not belong to the provider.");
      }
      const certificate = known.get(parsed.href) ?? (await fetchOnce(parsed.href));
      if (!(at >= Date.parse(certificate.validFrom) && at <= Date.parse(certificate.validTo))) {
        throw badSignature("The certificate is not valid at this time.");
      }
      return certificate.publicKey;
    },
  };
}

export function isPlainHttps({ protocol, port, username, password }: URL): boolean {
  return protocol === "https:" && port === "" && username === "" && password === "";
}

function parseCertificate(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw badSignature("The document at the certificate's URL is not a certificate.");
  }
}
