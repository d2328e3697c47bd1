import { PosthornError } from "../model/errors.ts";
import { MASK } from "../model/secrets.ts";
import type { SettingsSecrets } from "./destination-kind.ts";
import { parseUrl } from "../model/addresses.ts";
import { type DestinationAuthInput, maskAuth, SECRET_FIELDS } from "./request-settings.ts";

type Fields = Readonly<Record<string, unknown>>;

function mapValues<Value, Result>(
  settings: Readonly<Record<string, Value>> | object,
  map: (field: string, value: Value) => Result,
) {
  return Object.fromEntries(Object.entries(settings).map(([field, value]) => [field, map(field, value as Value)]));
}

/**
 * For kinds whose secrets are single settings. `secrets` names these settings. `place` names the settings that say
 * where the secrets are sent: when one of them changes, the secrets must be given again.
 */
export function secretSettings<Settings extends object>(
  secrets: readonly (keyof Settings & string)[],
  place: readonly (keyof Settings & string)[],
): SettingsSecrets<Settings> {
  const isSecret = (field: string, value: unknown) => value !== null && (secrets as readonly string[]).includes(field);
  const mapSecrets = (settings: object, map: (field: string, value: unknown) => unknown) =>
    mapValues(settings, (field, value) => (isSecret(field, value) ? map(field, value) : value));

  function findCarried(given: Fields, stored: Fields, isWhole: boolean): string | undefined {
    const isKept = (field: string) => given[field] === MASK || (given[field] === undefined && !isWhole);
    const carried = secrets.find((field) => (stored[field] ?? null) !== null && isKept(field));
    return carried && `destination.${carried}`;
  }

  return {
    hide(settings) {
      const hidden = Object.fromEntries(Object.entries(settings).filter(([field, value]) => isSecret(field, value)));
      if (Object.keys(hidden).length === 0) return undefined;
      return { shown: mapSecrets(settings, () => MASK) as Settings, hidden };
    },
    reveal: (shown, hidden) => ({ ...shown, ...(hidden as Partial<Settings>) }),
    mask: (settings, maskValue) =>
      mapSecrets(settings, (_, value) =>
        maskValue(typeof value === "string" ? value : JSON.stringify(value)),
      ) as Settings,
    restore: (given, stored) =>
      mapSecrets(given, (field, value) =>
        value === MASK ? ((stored as Fields)[field] ?? value) : value,
      ) as Partial<Settings>,
    findCarried: (given, stored, isWhole) => findCarried(given, stored as Fields, isWhole),
    rejectCarried(given, stored, isWhole) {
      if (!place.some((field) => given[field] !== undefined && given[field] !== stored[field])) return;
      const field = findCarried(given, stored as Fields, isWhole);
      if (field === undefined) return;
      throw new PosthornError("invalid_field", `${field}: the destination has changed; give it again.`, { field });
    },
  };
}

/** The settings that are sent to a URL and give access to it. */
interface UrlSettings {
  url?: string | undefined;
  headers?: Record<string, string> | null | undefined;
  auth?: DestinationAuthInput | null | undefined;
}

/**
 * Headers and auth are encrypted, shown without their values, and belong to the origin of the URL. `prefix`: of the
 * settings' names on the wire; `expand` fills in the placeholders of a URL, which normally get their values from an event.
 */
export function createUrlSecrets<Settings extends UrlSettings>(
  prefix: string,
  expand = (url: string) => url,
): SettingsSecrets<Settings> {
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
      const hasHeaders = Object.keys(headers).length > 0;
      const hasAuth = auth !== undefined && auth !== null;
      if (!hasAuth && !hasHeaders) return undefined;
      // The names are kept, and with them the order in which the headers are sent.
      if (hasHeaders) shown.headers = mapValues(headers, () => MASK);
      return { shown, hidden: { headers, ...(hasAuth && { auth }) } };
    },
    reveal(shown, sealed) {
      const { headers, auth } = sealed as Pick<UrlSettings, "headers" | "auth">;
      const settings = { ...shown };
      if (settings.headers) settings.headers = { ...settings.headers, ...headers };
      if (auth !== undefined) settings.auth = auth;
      return settings;
    },
    mask(settings, maskValue) {
      const shown = { ...settings };
      if (shown.headers) shown.headers = mapValues(shown.headers, (_, value: string) => maskValue(value));
      if (shown.auth) shown.auth = maskAuth(shown.auth);
      return shown;
    },
    restore: restoreMasked,
    findCarried,
    rejectCarried(given, stored, isWhole) {
      const origin = given.url === undefined ? undefined : originOf(given.url);
      // An invalid URL is rejected elsewhere.
      if (origin === undefined || origin === originOf(stored.url ?? "")) return;
      const carried = findCarried(given, stored, isWhole);
      if (carried === undefined) return;
      const message =
        `${carried}: the url now has another origin, and the stored value is meant for the old one. Give ${carried} ` +
        "again, with its values, or set it to null.";
      throw new PosthornError("invalid_field", message, { field: carried });
    },
  };
}

function restoreMasked<Change extends UrlSettings>(input: Change, stored: UrlSettings): Change {
  const restored = { ...input };
  if (hasMaskedHeader(input)) {
    const known = new Map(Object.entries(stored.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
    restored.headers = mapValues(input.headers ?? {}, (name, value: string) =>
      value === MASK ? (known.get(name.toLowerCase()) ?? value) : value,
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
