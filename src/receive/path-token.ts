import type { Source } from "../domain/source.ts";
import { isSameSecret } from "./same-secret.ts";

/** `/webhook/NAME/TOKEN/…`: who does not know the token does not find the source. */

export function hasPathToken(source: Source, path: string): boolean {
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
