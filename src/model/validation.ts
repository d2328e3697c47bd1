/**
 * A validation is its owner's description of valid webhooks for an endpoint. The endpoint is the name in
 * `/webhook/{name}`.
 */

/** `json`: a JSON Schema, rules, or both. `xsd`: an XML Schema. An endpoint may have one of each. */
export const VALIDATION_FORMATS = ["json", "xsd"] as const;
export type ValidationFormat = (typeof VALIDATION_FORMATS)[number];

/** For endpoints without a validation: `permissive` accepts the webhook, `strict` rejects it. */
export const VALIDATION_MODES = ["permissive", "strict"] as const;
export type ValidationMode = (typeof VALIDATION_MODES)[number];

/** The validation for endpoints that have none of their own. */
export const DEFAULT_ENDPOINT = "default";

export const VALIDATION_LIMITS = {
  maxBytes: 256 * 1024,
  /** Levels of containers or elements, the root included. */
  maxDepth: 32,
  /** The compiler's time grows with the square of the number of fields in one place. */
  maxSubschemas: 2000,
  maxRules: 100,
  /** How many failures are listed. */
  maxErrors: 100,
  /** Elements, attributes and texts of an XML body that is checked against an XML Schema. */
  maxXmlNodes: 400_000,
  /** Comments, processing instructions and CDATA sections of such a body. */
  maxXmlCuts: 10_000,
} as const;

/** A document that is in force. */
export interface Validation {
  readonly endpoint: string;
  readonly format: ValidationFormat;
  /** One sequence for both formats of an endpoint. */
  readonly version: number;
  /** The bytes as they were given. */
  readonly document: Uint8Array;
  /** SHA-256 of the document, in hex. */
  readonly hash: string;
}
