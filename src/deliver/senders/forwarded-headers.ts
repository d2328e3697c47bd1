import { isCredentialHeader } from "../../domain/credential-header.ts";
import { MASK } from "../../domain/mask.ts";
import { findForwardedNameProblem, isHeaderName, plainHeaderName } from "./outgoing-header.ts";

/**
 * Which headers of a received request a forwarding subscription hands on. `*` stands for the usual ones: all but those
 * of the connection, of proxies, credentials, and what every delivery says for itself. Credentials, and the sender's
 * User-Agent, are handed on when they are named.
 */
export const USUAL_HEADERS = "*";

const MAX_REMEMBERED = 1000;

export function findForwardedHeaderProblem(name: string): string | undefined {
  if (name === USUAL_HEADERS) return undefined;
  if (!isHeaderName(name)) return `${JSON.stringify(name)} is not the name of a header, and not *`;
  return findForwardedNameProblem(name);
}

/** Names of credentials among those that are to be handed on: their values must be kept, and apart from the rest. */
export function namedCredentials(forwardHeaders: readonly string[] | undefined): readonly string[] {
  return forwardHeaders?.filter(isCredentialHeader) ?? [];
}

/** `taken` are the names that the subscription itself sets, as `plainHeaderName` writes them. All are in lower case. */
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
  return !isCredentialHeader(name) && name !== "user-agent";
}

/** What `Connection` names belongs to the connection that it came by (RFC 9110 §7.6.1). */
export function namesOfConnection(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || /^(?:keep-alive|close|)$/i.test(connection)) return undefined;
  return new Set(connection.split(",").map((name) => plainHeaderName(name.trim())));
}

/** A value that was hidden when the request was kept says nothing. */
export function isHidden(value: string): boolean {
  return value === MASK;
}
