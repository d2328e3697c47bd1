export type { Payload } from "./bytes.ts";
export type { WebhookHeaders } from "./headers.ts";
export type { Secret } from "./secret.ts";
export { sign, type SignOptions } from "./sign.ts";
export { verify, type VerifiedWebhook, type VerifyOptions } from "./verify.ts";
export { verifyRequest } from "./verify-request.ts";
export { WebhookVerificationError, type VerificationErrorCode } from "./verification-error.ts";
