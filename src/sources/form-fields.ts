import { PosthornError } from "../model/errors.ts";
import type { ArrivedRequest } from "./source-kind.ts";

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
/** A form is read before its sender is verified: this much blocks the event loop for some milliseconds. */
const MAX_FORM_BYTES = 256 * 1024;

export function isForm({ headers }: ArrivedRequest): boolean {
  return FORM.test(headers["content-type"] ?? "");
}

export function formFields({ body }: ArrivedRequest): URLSearchParams {
  if (body.length > MAX_FORM_BYTES) {
    throw new PosthornError("too_large", `A form for this kind of source may have at most ${MAX_FORM_BYTES} bytes.`);
  }
  return new URLSearchParams(body.toString("utf8"));
}

/** The beginning of a field, from the first bytes of a form: decoding 25 MB would block the event loop too long. */
export function findFieldStart({ body }: ArrivedRequest, name: string, maxBytes: number): Buffer | undefined {
  const prefix = `${name}=`;
  let at = 0;
  while (!body.subarray(at, at + prefix.length).equals(Buffer.from(prefix))) {
    at = body.indexOf("&", at) + 1;
    if (at === 0) return undefined;
  }
  const field = new URLSearchParams(body.toString("utf8", at, at + prefix.length + maxBytes)).get(name);
  return field === null ? undefined : Buffer.from(field);
}

export function queryFields({ query }: ArrivedRequest): URLSearchParams {
  return new URLSearchParams(query);
}
