import { PosthornError } from "../../domain/errors.ts";
import type { ArrivedRequest } from "./source-kind.ts";

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
/** A form is read before its sender is known: so much takes the loop some milliseconds. */
const MAX_FORM_BYTES = 256 * 1024;

export function isForm({ headers }: ArrivedRequest): boolean {
  return FORM.test(headers["content-type"] ?? "");
}

export function formFields({ body }: ArrivedRequest): URLSearchParams {
  if (body.length > MAX_FORM_BYTES) {
    throw new PosthornError("too_large", `A form of this kind of source has at most ${MAX_FORM_BYTES} bytes.`);
  }
  return new URLSearchParams(body.toString("utf8"));
}

export function queryFields({ query }: ArrivedRequest): URLSearchParams {
  return new URLSearchParams(query);
}
