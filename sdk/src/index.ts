export type { Payload } from "./bytes.ts";
export { PosthornApiError, PosthornConnectionError, type PosthornErrorCode } from "./client/api-error.ts";
export { etagOf } from "./client/call.ts";
export { rawJson, type RawJson } from "./client/json.ts";
export type {
  ChangeOptions,
  CreateOptions,
  PosthornOptions,
  RequestOptions,
  RetryOptions,
  UploadOptions,
} from "./client/options.ts";
export type { Page, Pages } from "./client/pages.ts";
export { createPosthorn, type Posthorn } from "./client/posthorn.ts";
export type { EventInput, PublishResult } from "./client/publish.ts";
export type { Publisher, PublisherOptions } from "./client/publisher.ts";
export type { StreamFrame, StreamOptions } from "./client/stream.ts";
export type * from "./generated/resources.ts";
export type * from "./generated/shapes.ts";
export type { WebhookHeaders } from "./headers.ts";
export type { Secret } from "./secret.ts";
export { sign, type SignOptions } from "./sign.ts";
export { verify, type VerifiedWebhook, type VerifyOptions, verifyRequest } from "./verify.ts";
export { WebhookVerificationError, type VerificationErrorCode } from "./verification-error.ts";
