export type VerificationErrorCode =
  /** A header of the signature is not there, or there twice. */
  | "missing_header"
  /** A header is there, and cannot be read. */
  | "malformed_header"
  /** The timestamp lies further from now than the tolerance. */
  | "stale_timestamp"
  /** No signature was made with any of the secrets for these bytes. */
  | "wrong_signature"
  /** A secret is not one: a mistake of the receiver, not of the sender. */
  | "invalid_secret"
  /** The body was parsed before it could be verified: a mistake of the receiver. */
  | "body_not_raw";

/** Why a webhook was not verified. Answer 401 for all but the mistakes of the receiver, which are 500. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly code: VerificationErrorCode;

  constructor(code: VerificationErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** What an HTTP server answers. */
  get status(): 401 | 500 {
    return this.code === "invalid_secret" || this.code === "body_not_raw" ? 500 : 401;
  }
}
