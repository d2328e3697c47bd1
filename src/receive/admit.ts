import { isAllowedIp } from "../domain/allowed-ips.ts";
import { PosthornError } from "../domain/errors.ts";
import { isSourceName, SOURCE_NAME_WORDS, type Source, type SourceGate } from "../domain/source.ts";
import { isSameSecret } from "./same-secret.ts";
import type { RequestHead } from "./webhook-request.ts";

/** Checks a request before its body is read. Throws the reason to reject it. */
export function admit(source: Source, gate: SourceGate, request: RequestHead): void {
  if (gate.allowedIps !== undefined && !isAllowedIp(request.remoteAddress, gate.allowedIps)) {
    throw new PosthornError(
      "address_not_allowed",
      `The source "${source.name}" accepts no requests from ${request.remoteAddress}.`,
    );
  }
  if (gate.auth !== undefined && !hasToken(request, gate.auth)) {
    throw new PosthornError(
      "bad_signature",
      `The source "${source.name}" needs its token in the header ${gate.auth.header}.`,
    );
  }
  if (gate.contentTypes !== undefined) refuseContentType(source, gate.contentTypes, request);
}

function hasToken({ headers }: RequestHead, { header, token }: { header: string; token: string }): boolean {
  const given = headers[header];
  if (typeof given !== "string") return false;
  const isBearer = header === "authorization" && /^bearer /i.test(given);
  return isSameSecret(given, token) || (isBearer && isSameSecret(given.slice("bearer ".length), token));
}

function refuseContentType(source: Source, taken: readonly string[], { method, headers }: RequestHead): void {
  const given = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  // A handshake has no body, so it has no content type.
  if (given === "" && source.handshakeMethods?.includes(method) === true) return;
  if (taken.some((type) => fits(given, type))) return;
  throw new PosthornError(
    "unsupported_content_type",
    `The source "${source.name}" accepts ${taken.join(", ")}, not ${given === "" ? "a body without a content type" : given}.`,
    { details: { content_types: taken } },
  );
}

function fits(given: string, type: string): boolean {
  return type.endsWith("/*") ? given.startsWith(type.slice(0, -1)) : given === type;
}

/** Returns the source if it accepts webhooks at this path with this method now; otherwise throws the reason. */
export function checkOpen(name: string, source: Source | undefined, method: string, path: string): Source {
  if (source === undefined || !hasPathToken(source, path)) {
    throw unknownSource(name);
  }
  if (source.status === "closed") throw new PosthornError("gone", `The source "${name}" is closed.`);
  if (source.status === "paused") {
    throw new PosthornError("source_paused", `The source "${name}" is paused. Try again later.`, { retryAfterS: 60 });
  }
  if (source.handshakeMethods?.includes(method) !== true) refuseMethod(source, method);
  return source;
}

function unknownSource(name: string): PosthornError {
  const what = isSourceName(name)
    ? `There is no source "${name}". Declare it, or accept names that are not declared with any_source: true. Upper and ` +
      "lower case make a difference."
    : `${JSON.stringify(name.slice(0, 70))} is not the name of a source, which has ${SOURCE_NAME_WORDS}.`;
  return new PosthornError("unknown_source", what);
}

export function refuseMethod({ name, methods }: Source, method: string): void {
  if (methods.includes(method)) return;
  throw new PosthornError("method_not_allowed", `The source "${name}" takes ${methods.join(", ")}, not ${method}.`, {
    details: { allow: methods },
  });
}

/** `/webhook/NAME/TOKEN/…`: without the token the source is not found. */

function hasPathToken(source: Source, path: string): boolean {
  if (source.pathToken === undefined) return true;
  const { start, end } = findToken(source, path);
  return isSameSecret(path.slice(start, end), source.pathToken);
}

/** The path without the token, for storing. */
export function withoutPathToken(source: Source, path: string): string {
  if (source.pathToken === undefined) return path;
  const { start, end } = findToken(source, path);
  return path.slice(0, start - 1) + path.slice(end);
}

function findToken({ name }: Source, path: string): { start: number; end: number } {
  const start = "/webhook/".length + name.length + 1;
  const end = path.indexOf("/", start);
  return { start, end: end < 0 ? Math.max(start, path.length) : end };
}
