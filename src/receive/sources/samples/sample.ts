import { createHmac } from "node:crypto";

/** Requests as a provider sends them, for trying a source out: what they look like, and how they are signed. */
export interface Sample {
  /** The kind of source that takes them. */
  readonly kind: string;
  /** By what the provider calls them. */
  readonly events: Readonly<Record<string, (facts: SampleFacts) => SampleContent>>;
  /** What it is signed with, where that is not what the source has as its secret. */
  readonly keyHint?: string | undefined;
  /** Without a secret nothing is proved by anything. */
  readonly needsSecret: boolean;
  sign?(request: UnsignedSample, key: SampleKey): Signed;
  /** Why only the provider itself can sign, and what to do instead. */
  readonly unsignable?: string | undefined;
}

/** Of the request that is to be made. */
export interface SampleFacts {
  /** Unix milliseconds. */
  at: number;
  /** Another one for each request: most providers repeat it when they send something again. */
  id: string;
}

export interface SampleContent {
  headers?: Readonly<Record<string, string>>;
  /** What is not bytes already is sent as JSON. */
  body: object;
}

export interface UnsignedSample {
  /** As the sender addresses it: some schemes sign it. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  at: number;
  id: string;
}

export interface SampleKey {
  secret: string;
  /** Of the source. */
  options: Readonly<Record<string, unknown>>;
}

/** What a signature adds to a request, or puts in the place of what was there. */
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

/** JSON with other members at its top; what is no object stays as it is. */
export function withMembers(body: Buffer, change: (document: Record<string, unknown>) => object): Buffer {
  const document = JSON.parse(body.toString("utf8")) as unknown;
  if (typeof document !== "object" || document === null || Array.isArray(document)) return body;
  return Buffer.from(JSON.stringify(change(document as Record<string, unknown>)));
}
