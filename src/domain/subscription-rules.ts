import { PosthornError } from "./errors.ts";
import { parsePattern } from "./pattern.ts";
import { decodeSecret } from "./signature.ts";
import type { SubscriptionInput } from "./subscription.ts";

/** Rules for a subscription that a JSON Schema cannot say; the API and the configuration share them. */

export interface FieldProblem {
  /** By its name on the wire: `events[1]`, `headers.Host`. */
  field: string;
  message: string;
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const HEADER_VALUE = /^([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?$/;
const CONTROL = /[\p{Cc}\p{Cs}]/u;

/** Headers that frame the message, route it, unlock a cloud's metadata service or are the gateway's own word. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "content-encoding",
  "content-type",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "accept-encoding",
  "user-agent",
  "traceparent",
  "forwarded",
  "metadata",
  "metadata-flavor",
  "x-google-metadata-request",
  "x-metadata-token",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "x-webhook-id",
  "x-webhook-event",
  "x-webhook-timestamp",
  "x-webhook-attempt",
  "x-webhook-signature",
]);
const RESERVED_PREFIXES = ["proxy-", "x-forwarded-", "x-aws-ec2-metadata-"];

export function checkSubscriptionInput(input: SubscriptionInput): FieldProblem[] {
  return [
    ...checkText(input),
    ...checkPatterns(input.events),
    ...checkRetry(input),
    ...checkSecret(input.secret),
    ...checkHeaders(input),
  ];
}

function checkText(input: SubscriptionInput): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const field of ["name", "tenant_id"] as const) {
    if (CONTROL.test(input[field] ?? "")) problems.push({ field, message: "must not contain control characters" });
  }
  if (input.description?.includes("\0") === true) {
    problems.push({ field: "description", message: "must not contain NUL" });
  }
  return problems;
}

function checkPatterns(patterns: readonly string[]): FieldProblem[] {
  return patterns.flatMap((pattern, index) => {
    try {
      parsePattern(pattern);
      return [];
    } catch (error) {
      if (!(error instanceof PosthornError)) throw error;
      return [{ field: `events[${index}]`, message: error.message }];
    }
  });
}

function checkRetry(input: SubscriptionInput): FieldProblem[] {
  const isFixed = input.retry_count !== undefined || input.retry_interval !== undefined;
  if (input.retry_policy === undefined || !isFixed) return [];
  return [
    {
      field: "retry_policy",
      message: "cannot be given together with retry_count or retry_interval; choose one of the two ways",
    },
  ];
}

function checkSecret(secret: string | undefined): FieldProblem[] {
  if (secret === undefined) return [];
  try {
    decodeSecret(secret);
    return [];
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    return [{ field: "secret", message: error.message }];
  }
}

function checkHeaders(input: SubscriptionInput): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const signatureHeader = input.signature_header?.toLowerCase();
  const seen = new Set<string>();
  if (signatureHeader !== undefined && signatureHeader !== "x-webhook-signature" && isReserved(signatureHeader)) {
    problems.push({ field: "signature_header", message: "is a header that the gateway sets itself; choose another" });
  }
  for (const [name, value] of Object.entries(input.headers ?? {})) {
    const field = `headers.${name}`;
    const key = name.toLowerCase();
    if (!HEADER_NAME.test(name)) {
      problems.push({ field: "headers", message: `${JSON.stringify(name)} is not a header name` });
    } else if (isReserved(key) || key === signatureHeader || key === `${signatureHeader}-next`) {
      problems.push({ field, message: "is set by the gateway or would change where a request goes; leave it out" });
    } else if (seen.has(key)) {
      problems.push({ field, message: "is given twice; header names do not differ by case" });
    } else if (!HEADER_VALUE.test(value)) {
      problems.push({ field, message: "must be printable ASCII without spaces at its ends" });
    }
    seen.add(key);
  }
  return problems;
}

function isReserved(lowerCaseName: string): boolean {
  return RESERVED_HEADERS.has(lowerCaseName) || RESERVED_PREFIXES.some((prefix) => lowerCaseName.startsWith(prefix));
}
