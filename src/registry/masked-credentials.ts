import { type DestinationAuthInput, MASK, SECRET_FIELDS } from "../domain/destination-auth.ts";
import { PosthornError } from "../domain/errors.ts";
import { parseUrl } from "../domain/parse-url.ts";
import type { SubscriptionInput } from "../domain/subscription.ts";
import { expandUrl } from "../domain/url-template.ts";

/** The headers and the auth of a subscription are shown without their values, and belong to the origin of its URL. */

type Credentials = Pick<SubscriptionInput, "headers" | "auth">;
type Change = Partial<Credentials & Pick<SubscriptionInput, "url">>;

/** Somebody sends back what he was shown: a masked value stands for the one that is stored. */
export function restoreMasked<Input extends Change>(input: Input, stored: Credentials): Input {
  const restored = { ...input };
  if (hasMaskedHeader(input)) {
    const known = new Map(Object.entries(stored.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
    restored.headers = Object.fromEntries(
      Object.entries(input.headers ?? {}).map(([name, value]) => [
        name,
        value === MASK ? (known.get(name.toLowerCase()) ?? value) : value,
      ]),
    );
  }
  if (hasMaskedField(input.auth) && isSamePlace(input.auth, stored.auth)) {
    const auth = { ...input.auth };
    for (const field of SECRET_FIELDS) {
      const secret = stored.auth?.[field];
      if (auth[field] === MASK && secret !== undefined) auth[field] = secret;
    }
    restored.auth = auth;
  }
  return restored;
}

/**
 * What opens the old destination must not be sent to another just because its address changed. `isWhole`: what is not
 * given is taken away, and need not be asked for.
 */
export function refuseCarriedCredentials(
  change: Change,
  stored: Credentials & Pick<SubscriptionInput, "url">,
  isWhole: boolean,
): void {
  const origin = change.url === undefined ? undefined : originOf(change.url);
  // What is no URL is refused as such.
  if (origin === undefined || origin === originOf(stored.url)) return;
  const hasHeaders = Object.keys(stored.headers ?? {}).length > 0;
  if (hasHeaders && (hasMaskedHeader(change) || (change.headers === undefined && !isWhole))) refuse("headers");
  const hasAuth = stored.auth !== undefined && stored.auth !== null && stored.auth.type !== "ca";
  if (hasAuth && (hasMaskedField(change.auth) || (change.auth === undefined && !isWhole))) refuse("auth");
}

function refuse(field: "headers" | "auth"): never {
  throw new PosthornError(
    "invalid_field",
    `${field}: url leads to another origin than before, and what is stored here is meant for the old one. Give ${field} ` +
      "again, with its values, or set it to null.",
    { field },
  );
}

function hasMaskedHeader({ headers }: Change): boolean {
  return Object.values(headers ?? {}).includes(MASK);
}

function hasMaskedField(auth: DestinationAuthInput | null | undefined): auth is DestinationAuthInput {
  return auth !== undefined && auth !== null && SECRET_FIELDS.some((field) => auth[field] === MASK);
}

/** The client's secret goes to the token endpoint, which may be moved while the destination stays. */
function isSamePlace(auth: DestinationAuthInput, stored: DestinationAuthInput | null | undefined): boolean {
  if (stored?.type !== auth.type) return false;
  return originOf(auth.token_url ?? "") === originOf(stored.token_url ?? "");
}

function originOf(url: string): string | undefined {
  const text = expandUrl(url, "source");
  return parseUrl(text)?.origin;
}
