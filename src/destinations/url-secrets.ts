import { PosthornError } from "../model/errors.ts";
import { MASK } from "../model/secrets.ts";
import { parseUrl } from "../model/addresses.ts";
import type { SettingsSecrets } from "./sender.ts";
import { type DestinationAuthInput, maskAuth, SECRET_FIELDS } from "./destination-auth.ts";

export interface UrlSecretsOptions {
  /** The prefix of the settings' names on the wire. */
  prefix?: string;
  /** Fills in the placeholders of a URL, which normally get their values from an event. */
  expand?: (url: string) => string;
}

/** The settings that are sent to a URL and give access to it. */
interface UrlSettings {
  url?: string | undefined;
  headers?: Record<string, string> | null | undefined;
  auth?: DestinationAuthInput | null | undefined;
}

/** Headers and auth are encrypted, shown without their values, and belong to the origin of the URL. */
export function createUrlSecrets<Settings extends UrlSettings>({
  prefix = "",
  expand = (url) => url,
}: UrlSecretsOptions = {}): SettingsSecrets<Settings> {
  const originOf = (url: string) => parseUrl(expand(url))?.origin;

  function findCarried(given: UrlSettings, stored: UrlSettings, isWhole: boolean): string | undefined {
    const hasHeaders = Object.keys(stored.headers ?? {}).length > 0;
    if (hasHeaders && (hasMaskedHeader(given) || (given.headers === undefined && !isWhole))) return `${prefix}headers`;
    const hasAuth = stored.auth !== undefined && stored.auth !== null && stored.auth.type !== "ca";
    const isKept = hasMaskedField(given.auth) || (given.auth === undefined && !isWhole);
    return hasAuth && isKept ? `${prefix}auth` : undefined;
  }

  return {
    hide(settings) {
      const { auth, ...rest } = settings;
      const shown = rest as Settings;
      const headers = settings.headers ?? {};
      const names = Object.keys(headers);
      const hasAuth = auth !== undefined && auth !== null;
      if (!hasAuth && names.length === 0) return undefined;
      const hidden: Hidden = { headers };
      if (hasAuth) hidden.auth = auth;
      // The names are kept, and with them the order in which the headers are sent.
      if (names.length > 0) shown.headers = Object.fromEntries(names.map((name) => [name, MASK]));
      return { shown, hidden };
    },
    reveal(shown, sealed) {
      const { headers, auth } = sealed as Hidden;
      const settings = { ...shown };
      if (settings.headers) settings.headers = { ...settings.headers, ...headers };
      if (auth !== undefined) settings.auth = auth;
      return settings;
    },
    mask(settings, maskValue) {
      const shown = { ...settings };
      if (shown.headers) {
        shown.headers = Object.fromEntries(
          Object.entries(shown.headers).map(([name, value]) => [name, maskValue(value)]),
        );
      }
      if (shown.auth !== undefined && shown.auth !== null) shown.auth = maskAuth(shown.auth);
      return shown;
    },
    restore: restoreMasked,
    findCarried,
    refuseCarried(given, stored, isWhole) {
      const origin = given.url === undefined ? undefined : originOf(given.url);
      // An invalid URL is rejected elsewhere.
      if (origin === undefined || origin === originOf(stored.url ?? "")) return;
      const carried = findCarried(given, stored, isWhole);
      if (carried !== undefined) refuse(carried);
    },
  };
}

interface Hidden {
  auth?: UrlSettings["auth"];
  headers: Record<string, string>;
}

function restoreMasked<Change extends UrlSettings>(input: Change, stored: UrlSettings): Change {
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

function refuse(field: string): never {
  throw new PosthornError(
    "invalid_field",
    `${field}: the url now has another origin, and the stored value is meant for the old one. Give ${field} ` +
      "again, with its values, or set it to null.",
    { field },
  );
}

function hasMaskedHeader({ headers }: UrlSettings): boolean {
  return Object.values(headers ?? {}).includes(MASK);
}

function hasMaskedField(auth: DestinationAuthInput | null | undefined): auth is DestinationAuthInput {
  return auth !== undefined && auth !== null && SECRET_FIELDS.some((field) => auth[field] === MASK);
}

/** The client's secret goes to the token endpoint, which may change while the destination stays the same. */
function isSamePlace(auth: DestinationAuthInput, stored: DestinationAuthInput | null | undefined): boolean {
  if (stored?.type !== auth.type) return false;
  return parseUrl(auth.token_url ?? "")?.origin === parseUrl(stored.token_url ?? "")?.origin;
}
