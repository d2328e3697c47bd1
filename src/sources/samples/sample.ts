import { createHmac } from "node:crypto";

/** Sample requests of a provider for testing a source: their content, and how they are signed. */
export interface Sample {
  /** The kind of source that they are for. */
  readonly kind: string;
  /** By the provider's name for them. */
  readonly events: Readonly<Record<string, (facts: SampleFacts) => SampleContent>>;
  /** The key that signs, if it is not the secret of the source. */
  readonly keyHint?: string | undefined;
  /** True when a request without a secret would be pointless. */
  readonly needsSecret: boolean;
  sign?(request: UnsignedSample, key: SampleKey): Signed;
  /** Why only the provider itself can sign, and what to do instead. */
  readonly unsignable?: string | undefined;
}

/** Facts of the request to build. */
export interface SampleFacts {
  /** Unix milliseconds. */
  at: number;
  /** Different for each request; most providers send the same id again when they retry. */
  id: string;
}

export interface SampleContent {
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is bytes. */
  body: object;
}

export interface UnsignedSample {
  /** The URL that the sender uses: some schemes sign it. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  at: number;
  id: string;
}

export interface SampleKey {
  secret: string;
  /** The options of the source. */
  options: Readonly<Record<string, unknown>>;
}

/** The parts of a request that signing adds or replaces. */
export interface Signed {
  headers?: Readonly<Record<string, string>>;
  query?: string;
  body?: Buffer;
}

export const JSON_CONTENT = { "content-type": "application/json" };

export function hmacOf(
  algorithm: string,
  key: string | Buffer,
  parts: readonly (string | Buffer)[],
  encoding: "hex" | "base64" | "base64url",
): string {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest(encoding);
}

export function unixSeconds(at: number): string {
  return String(Math.floor(at / 1000));
}

/** RFC 3339, without milliseconds. */
export function wholeSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Replaces top-level members of JSON; a value that is not an object stays unchanged. */
export function withMembers(body: Buffer, change: (document: Record<string, unknown>) => object): Buffer {
  const document = JSON.parse(body.toString("utf8")) as unknown;
  if (typeof document !== "object" || document === null || Array.isArray(document)) return body;
  return Buffer.from(JSON.stringify(change(document as Record<string, unknown>)));
}
