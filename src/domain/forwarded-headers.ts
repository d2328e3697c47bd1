import { isCredentialHeader } from "./credential-header.ts";
import { MASK } from "./destination-auth.ts";
import { findForwardedNameProblem, isHeaderName } from "./outgoing-header.ts";

/**
 * Which headers of a received request a forwarding subscription hands on. `*` stands for the usual ones: all but those
 * of the connection, of proxies, credentials, and what every delivery says for itself. Credentials, and the sender's
 * User-Agent, are handed on when they are named.
 */
const USUAL_HEADERS = "*";

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

/** `taken` are the names that the subscription itself sets. All names are in lower case. */
export function createHeaderChoice(
  forwardHeaders: readonly string[] = [USUAL_HEADERS],
  taken: ReadonlySet<string> = new Set(),
): (name: string) => boolean {
  const named = new Set(forwardHeaders);
  const hasUsual = named.has(USUAL_HEADERS);
  const known = new Map<string, boolean>();

  function judge(name: string): boolean {
    if (taken.has(name) || findForwardedNameProblem(name) !== undefined) return false;
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

/** The way a request came: the address that sent it stands last. */
export function appendForwardedFor(before: string | undefined, address: string): string {
  const way = (before ?? "").trim();
  if (way === "" || address === "") return way || address;
  const last = way.slice(way.lastIndexOf(",") + 1).trim();
  return last === address ? way : `${way}, ${address}`;
}

/** A value that was hidden when the request was kept says nothing. */
export function isHidden(value: string): boolean {
  return value === MASK;
}
