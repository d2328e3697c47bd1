import { PosthornError } from "../domain/errors.ts";

/** Which version of a thing somebody has seen (RFC 9110 §13), so that two who change it do not undo each other. */
export function etagOf({ version }: { version: number }): string {
  return `"${version}"`;
}

/** Refuses a change that was meant for another version. Without `If-Match` any is meant. */
export function checkIfMatch(ifMatch: string | undefined, entry: { version: number } | undefined): void {
  if (ifMatch === undefined) return;
  const etag = entry === undefined ? undefined : etagOf(entry);
  if (etag !== undefined && ifMatch.split(",").some((one) => ["*", etag].includes(one.trim()))) return;
  const now = etag === undefined ? "there is none" : `it is ${etag} now`;
  throw new PosthornError(
    "precondition_failed",
    `If-Match says ${ifMatch}, but ${now}. Read it again, then change it.`,
    { details: { etag: etag ?? null } },
  );
}
