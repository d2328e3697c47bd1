import { WebhookVerificationError } from "./verification-error.ts";

/** Headers as any server has them: those of fetch, of Node, or a plain object. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Undefined when it is not there. One that is there twice is nobody's: which of the two was meant? */
export function findHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
  if (values.length > 1) throw new WebhookVerificationError("missing_header", `The header ${name} is there twice.`);
  return values[0];
}

export function getHeader(headers: WebhookHeaders, name: string): string {
  const value = findHeader(headers, name);
  if (value === undefined || value === "") {
    throw new WebhookVerificationError("missing_header", `The header ${name} is missing.`);
  }
  return value;
}
