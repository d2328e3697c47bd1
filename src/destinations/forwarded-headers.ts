import { isCredentialHeader } from "../model/headers.ts";
import { MASK } from "../model/secrets.ts";
import { findForwardedNameProblem, isHeaderName, isOursUnlessNamed, plainHeaderName } from "./outgoing-header.ts";

/**
 * Which headers of a received request a forwarding subscription passes on. `*` means the usual ones: all except those
 * of the connection, of proxies, credentials, and headers that every delivery sets itself. Credentials, the sender's User-Agent,
 * and its headers of Standard Webhooks and the like, which then replace ours, are passed on only when they are named.
 */
export const USUAL_HEADERS = "*";

const MAX_REMEMBERED = 1000;

export function findForwardedHeaderProblem(name: string): string | undefined {
  if (name === USUAL_HEADERS) return undefined;
  if (!isHeaderName(name)) return `${JSON.stringify(name)} is neither a valid header name nor *`;
  return findForwardedNameProblem(name);
}

/** The credentials among the headers to pass on: their values must be kept, separate from the rest. */
export function namedCredentials(forwardHeaders: readonly string[] | undefined): readonly string[] {
  return forwardHeaders?.filter(isCredentialHeader) ?? [];
}

/** `taken`: the names that the subscription itself sets, as `plainHeaderName` writes them. All are in lower case. */
export function createHeaderChoice(
  forwardHeaders: readonly string[] = [USUAL_HEADERS],
  taken: ReadonlySet<string> = new Set(),
): (name: string) => boolean {
  const named = new Set(forwardHeaders);
  const hasUsual = named.has(USUAL_HEADERS);
  const known = new Map<string, boolean>();

  function judge(name: string): boolean {
    if (taken.has(plainHeaderName(name)) || findForwardedNameProblem(name) !== undefined) return false;
    return named.has(name) || (hasUsual && isUsual(name));
  }

  return (name) => {
    let isChosen = known.get(name);
    if (isChosen === undefined) {
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.set(name, (isChosen = judge(name)));
    }
    return isChosen;
  };
}

function isUsual(name: string): boolean {
  return !isCredentialHeader(name) && !isOursUnlessNamed(name) && name !== "user-agent";
}

/** Headers that `Connection` names belong to the connection of the received request (RFC 9110 §7.6.1). */
export function namesOfConnection(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || /^(?:keep-alive|close|)$/i.test(connection)) return undefined;
  return new Set(connection.split(",").map((name) => plainHeaderName(name.trim())));
}

/** A value that was masked when the request was stored is useless. */
export function isHidden(value: string): boolean {
  return value === MASK;
}
