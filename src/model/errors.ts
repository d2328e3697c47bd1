/** All errors of the gateway in one table; docs/reference/errors.md explains each row to users. */

interface ErrorRow {
  status: number;
  title: string;
  /** For errors that end a command; 1 by default. */
  exitCode?: number;
}

const ROWS = {
  bad_request: { status: 400, title: "The request is malformed" },
  unreadable_body: { status: 400, title: "The body is not well-formed" },
  ambiguous_length: { status: 400, title: "The request has both Content-Length and Transfer-Encoding" },
  sign_in_failed: { status: 400, title: "The sign-in was not completed" },
  unauthorized: { status: 401, title: "A valid key is required" },
  bad_signature: { status: 401, title: "The signature does not match" },
  forbidden: { status: 403, title: "The key does not allow this" },
  group_not_allowed: { status: 403, title: "No group of the user may sign in" },
  other_origin: { status: 403, title: "The request comes from another site" },
  insecure_sign_in: { status: 403, title: "Signing in needs https" },
  address_not_allowed: { status: 403, title: "The address is not allowed" },
  unknown_webhook: { status: 403, title: "The webhook at the provider was not created by this gateway" },
  not_found: { status: 404, title: "Not found" },
  unknown_source: { status: 404, title: "The source was not found" },
  method_not_allowed: { status: 405, title: "The method is not allowed here" },
  request_timeout: { status: 408, title: "The request took too long" },
  conflict: { status: 409, title: "The request conflicts with an existing resource" },
  managed_by_config: { status: 409, title: "The configuration file manages this resource" },
  subscription_quota: { status: 409, title: "The tenant has reached its maximum number of subscriptions" },
  key_limit: { status: 409, title: "The tenant has reached its maximum number of keys" },
  illegal_transition: { status: 409, title: "The delivery's state does not allow this" },
  confirmation_required: { status: 409, title: "This must be confirmed first" },
  newer_format: { status: 409, title: "A newer release wrote this record" },
  idempotency_key_reused: { status: 409, title: "The Idempotency-Key was used for another request" },
  gone: { status: 410, title: "The source is closed" },
  precondition_failed: { status: 412, title: "The resource has changed since it was read" },
  too_large: { status: 413, title: "The body is too large" },
  unsupported_encoding: { status: 415, title: "The content encoding is not supported" },
  unsupported_content_type: { status: 415, title: "The content type is not accepted here" },
  invalid_field: { status: 422, title: "A field is not valid" },
  schema_mismatch: { status: 422, title: "The payload does not match its schema" },
  validation_failed: { status: 422, title: "The body does not pass its validation" },
  validation_not_found: { status: 422, title: "There is no validation for the endpoint" },
  invalid_validation: { status: 422, title: "The validation cannot be used" },
  unknown_version: { status: 422, title: "The event type has no such version" },
  headers_too_large: { status: 431, title: "The headers are too large" },
  too_many_requests: { status: 429, title: "Too many requests" },
  quota_exceeded: { status: 429, title: "The tenant has used up its quota" },
  internal_error: { status: 500, title: "Internal error of the gateway" },
  broker_failed: { status: 502, title: "The broker refused or did not answer" },
  sign_in_provider_failed: { status: 502, title: "The sign-in provider refused or did not answer" },
  smartsheet_failed: { status: 502, title: "Smartsheet refused or did not answer" },
  loop: { status: 508, title: "The event goes round in a loop" },
  unavailable: { status: 503, title: "The gateway cannot accept this now" },
  overloaded: { status: 503, title: "The gateway is overloaded" },
  store_full: { status: 503, title: "The gateway's disk is full" },
  shutting_down: { status: 503, title: "The gateway is shutting down" },
  source_paused: { status: 503, title: "The source is paused" },
  tenant_throttled: { status: 503, title: "The tenant sends too many events" },
  tenant_over_quota: { status: 503, title: "The tenant has used up its quota" },
  tenant_inactive: { status: 503, title: "The tenant is not active" },
  config_invalid: { status: 500, title: "The configuration is not valid", exitCode: 3 },
  data_dir_in_use: { status: 500, title: "Another gateway uses the data directory", exitCode: 3 },
  data_dir_not_writable: { status: 500, title: "The data directory cannot be written", exitCode: 3 },
  port_in_use: { status: 500, title: "The port is in use", exitCode: 3 },
  store_corrupt: { status: 500, title: "The database is damaged", exitCode: 1 },
  store_unsafe: { status: 500, title: "The database cannot be used safely here", exitCode: 1 },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ROWS;

export const ERRORS: Readonly<Record<ErrorCode, Readonly<ErrorRow>>> = ROWS;

/**
 * Whether the sender must fix the problem. Only such errors are logged with the source's requests; errors of the
 * gateway are not.
 */
export function isSendersFault(error: unknown): error is PosthornError {
  return error instanceof PosthornError && (ERRORS[error.code].status < 500 || error.code === "loop");
}

interface ErrorOptions {
  cause?: unknown;
  /** The invalid field, by its name on the wire. */
  field?: string | undefined;
  /** More facts for the client; never a secret. */
  details?: Record<string, unknown> | undefined;
  retryAfterS?: number | undefined;
}

export class PosthornError extends Error {
  override readonly name = "PosthornError";
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.field = options.field;
    this.details = options.details;
    this.retryAfterS = options.retryAfterS;
  }
}

/** What somebody has sent has a wrong value, at the field or, without one, as a whole. */
export function invalidField(field: string | undefined, message: string): PosthornError {
  return new PosthornError("invalid_field", message, { field });
}

/** Whether something that was stored is no longer as it was written. */
export function isDamage(error: unknown): error is PosthornError {
  return error instanceof PosthornError && error.code === "store_corrupt";
}

/** Returns the error that a parser throws, or undefined when it accepts its input. */
export function findFault(parse: () => unknown): PosthornError | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof PosthornError) return error;
    throw error;
  }
}

/** A rejection as a value: the request cannot be done in the current state. An exception is a fault. */
export interface Refused {
  refused: Refusal;
}

interface Refusal extends Pick<ErrorOptions, "field" | "details"> {
  code: ErrorCode;
  message: string;
}

export function refuse(code: ErrorCode, message: string, more: Pick<ErrorOptions, "field" | "details"> = {}): Refused {
  return { refused: { code, message, ...more } };
}

export function isRefused(result: unknown): result is Refused {
  return typeof result === "object" && result !== null && "refused" in result;
}

/** Turns a rejection into the error that the client is shown. */
export function orThrow<T>(result: T | Refused): T {
  if (!isRefused(result)) return result;
  const { code, message, field, details } = result.refused;
  throw new PosthornError(code, message, { field, details });
}

/** In `details.declared` of an error: a declaration in the configuration that cannot be used. */
export interface DeclaredFault {
  /** `subscription`, `event type` … */
  noun: string;
  name: string;
  field: string | undefined;
  /** Without the noun and the name. */
  message: string;
}
