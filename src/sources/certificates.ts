import { X509Certificate, type KeyObject } from "node:crypto";
import { PosthornError } from "../model/errors.ts";
import { parseUrl } from "../model/addresses.ts";
import { badSignature } from "./signatures.ts";

interface CertificateRules {
  fetchText(url: string): Promise<string>;
  /** Where the provider's certificates are. */
  host: RegExp;
  path: RegExp;
}

const MAX_CERTIFICATES = 100;
/** The URL comes from a sender that is not verified yet. */
const MAX_FETCHES = 4;

/** Certificates of providers whose requests name the URL of their certificate. */
export function createCertificates({ fetchText, host, path }: CertificateRules) {
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
    /** Throws `bad_signature` for an untrusted or expired certificate, `unavailable` when it cannot be fetched. */
    async publicKeyAt(url: string, at: number): Promise<KeyObject> {
      const parsed = findPlainUrl(url, host);
      if (parsed === undefined || !path.test(parsed.pathname) || parsed.search !== "") {
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

/** An https URL of this host without a port and a user. */
export function findPlainUrl(text: string, host: RegExp): URL | undefined {
  const url = parseUrl(text);
  if (url === undefined || url.protocol !== "https:" || url.port !== "" || !host.test(url.hostname)) return undefined;
  return url.username === "" && url.password === "" ? url : undefined;
}

function parseCertificate(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw badSignature("The document at the certificate's URL is not a certificate.");
  }
}
