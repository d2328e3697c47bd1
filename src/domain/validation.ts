import { SOURCE_NAME_PATTERN } from "./source.ts";

/** What the webhooks of an endpoint must be like, in the words of its owner: the name is that of `/webhook/{name}`. */

/** `json`: a JSON Schema, rules, or both. `xsd`: an XML Schema. An endpoint may have one of each. */
export const VALIDATION_FORMATS = ["json", "xsd"] as const;
export type ValidationFormat = (typeof VALIDATION_FORMATS)[number];

/** What happens where there is no validation: `permissive` takes the webhook, `strict` refuses it. */
export const VALIDATION_MODES = ["permissive", "strict"] as const;
export type ValidationMode = (typeof VALIDATION_MODES)[number];

/** For endpoints that have none of their own. */
export const DEFAULT_ENDPOINT = "default";

export const VALIDATION_LIMITS = {
  maxBytes: 256 * 1024,
  /** Levels of containers or elements, the root included. */
  maxDepth: 32,
  /** The compiler takes a time that grows with the square of the fields in one place. */
  maxSubschemas: 2000,
  maxRules: 100,
  /** Failing places that are named. */
  maxErrors: 100,
  /** Of an XML body that is compared with an XML Schema: elements, attributes and texts. */
  maxXmlNodes: 400_000,
  /** Of its comments, processing instructions and CDATA sections. */
  maxXmlCuts: 10_000,
} as const;

/** A document that is in force. */
export interface Validation {
  readonly endpoint: string;
  readonly format: ValidationFormat;
  /** One sequence for both formats of an endpoint. */
  readonly version: number;
  /** As it was given. */
  readonly document: Uint8Array;
  /** SHA-256 of it, as hex. */
  readonly hash: string;
}

const ENDPOINT = new RegExp(SOURCE_NAME_PATTERN);

export function isEndpoint(name: string): boolean {
  return ENDPOINT.test(name);
}
