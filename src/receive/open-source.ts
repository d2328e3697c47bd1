import { PosthornError } from "../domain/errors.ts";
import type { Source } from "../domain/source.ts";
import { hasPathToken } from "./path-token.ts";

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
