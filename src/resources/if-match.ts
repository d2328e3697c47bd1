import { PosthornError } from "../model/errors.ts";

/** The version that a client has seen (RFC 9110 §13), so that two clients do not undo each other's changes. */
export function etagOf({ version }: { version: number }): string {
  return `"${version}"`;
}

/** What must hold for a change to be made; without any, it is made. */
export interface Conditions {
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
}

/** Rejects a change that was meant for another version. Without `If-Match`, any version is meant. */
export function checkIfMatch(ifMatch: string | undefined, entry: { version: number } | undefined): void {
  if (ifMatch === undefined) return;
  const etag = entry === undefined ? undefined : etagOf(entry);
  if (etag !== undefined && ifMatch.split(",").some((one) => ["*", etag].includes(one.trim()))) return;
  const now = etag === undefined ? "it does not exist" : `it is ${etag} now`;
  throw new PosthornError(
    "precondition_failed",
    `If-Match says ${ifMatch}, but ${now}. Read it again, then change it.`,
    { details: { etag: etag ?? null } },
  );
}

/** `*` rejects what exists already, so that two clients who create the same do not overwrite each other. */
export function checkIfNoneMatch(ifNoneMatch: string | undefined, entry: { version: number } | undefined): void {
  if (ifNoneMatch === undefined || entry === undefined) return;
  const etag = etagOf(entry);
  if (!ifNoneMatch.split(",").some((one) => ["*", etag].includes(one.trim()))) return;
  throw new PosthornError(
    "precondition_failed",
    `If-None-Match says ${ifNoneMatch}, but it exists: it is ${etag} now. Read it, then change it with If-Match.`,
    { details: { etag } },
  );
}
