import { isAllowedIp } from "../domain/allowed-ips.ts";
import { PosthornError } from "../domain/errors.ts";
import type { Source, SourceGate } from "../domain/source.ts";
import { isSameSecret } from "./same-secret.ts";
import type { RequestHead } from "./webhook-request.ts";

/** What can be said of a request before its body is read. Throws the reason to refuse it. */
export function admit(source: Source, gate: SourceGate, request: RequestHead): void {
  if (gate.allowedIps !== undefined && !isAllowedIp(request.remoteAddress, gate.allowedIps)) {
    throw new PosthornError(
      "address_not_allowed",
      `The source "${source.name}" takes nothing from ${request.remoteAddress}.`,
    );
  }
  if (gate.isLocked) {
    throw new PosthornError(
      "bad_signature",
      `The source "${source.name}" can verify nobody: its secret or token can be guessed. Its owner must give another.`,
    );
  }
  if (gate.auth !== undefined && !hasToken(request, gate.auth)) {
    throw new PosthornError(
      "bad_signature",
      `The source "${source.name}" wants its token in the header ${gate.auth.header}.`,
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
  // A handshake has no body, and so no type.
  if (given === "" && source.handshakeMethods?.includes(method) === true) return;
  if (taken.some((type) => fits(given, type))) return;
  throw new PosthornError(
    "unsupported_content_type",
    `The source "${source.name}" takes ${taken.join(", ")}, not ${given === "" ? "a body without a type" : given}.`,
    { details: { content_types: taken } },
  );
}

function fits(given: string, type: string): boolean {
  return type.endsWith("/*") ? given.startsWith(type.slice(0, -1)) : given === type;
}

/** Gives back the source if it takes webhooks at this path by this method now; else throws the reason why not. */
export function checkOpen(name: string, source: Source | undefined, method: string, path: string): Source {
  if (source === undefined || !hasPathToken(source, path)) {
    throw new PosthornError("unknown_source", `There is no source "${name}". Declare it, or turn the * source on.`);
  }
  if (source.status === "closed") throw new PosthornError("gone", `The source "${name}" is closed.`);
  if (source.status === "paused") {
    throw new PosthornError("source_paused", `The source "${name}" is paused. Try again later.`, { retryAfterS: 60 });
  }
  if (source.handshakeMethods?.includes(method) !== true) refuseMethod(source, method);
  return source;
}

export function refuseMethod({ name, methods }: Source, method: string): void {
  if (methods.includes(method)) return;
  throw new PosthornError("method_not_allowed", `The source "${name}" takes ${methods.join(", ")}, not ${method}.`, {
    details: { allow: methods },
  });
}

/** `/webhook/NAME/TOKEN/…`: who does not know the token does not find the source. */

function hasPathToken(source: Source, path: string): boolean {
  if (source.pathToken === undefined) return true;
  const { start, end } = findToken(source, path);
  return isSameSecret(path.slice(start, end), source.pathToken);
}

/** The path as it is kept: as if there were no token. */
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
