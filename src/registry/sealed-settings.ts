import { MASK } from "../domain/destination-auth.ts";
import type { SubscriptionInput } from "../domain/subscription.ts";
import type { SecretBox } from "./secret-box.ts";

/**
 * The settings of a subscription as the store keeps them. What may open a door (`auth` and the values of all headers) is
 * sealed inside of it; the rest stays readable.
 */

export type Settings = Omit<SubscriptionInput, "secret" | "status">;

export interface StoredSettings extends Settings {
  /** Base64 of a sealed `Hidden`; absent when there is nothing to hide, and in rows of earlier versions. */
  sealed?: string;
}

interface Hidden {
  auth?: Settings["auth"];
  headers: Record<string, string>;
}

export function sealSettings(settings: Settings, box: SecretBox, owner: string): StoredSettings {
  const { auth, ...shown }: StoredSettings = settings;
  const headers = settings.headers ?? {};
  const names = Object.keys(headers);
  const hasAuth = auth !== undefined && auth !== null;
  if (!hasAuth && names.length === 0) return settings;
  const hidden: Hidden = { headers };
  if (hasAuth) hidden.auth = auth;
  // The names stay, and with them the order in which the headers are sent.
  if (names.length > 0) shown.headers = Object.fromEntries(names.map((name) => [name, MASK]));
  shown.sealed = Buffer.from(box.seal(JSON.stringify(hidden), settingsOf(owner))).toString("base64");
  return shown;
}

export function openSettings(stored: StoredSettings, box: SecretBox, owner: string): Settings {
  const { sealed, ...settings } = stored;
  if (sealed === undefined) return settings;
  const hidden = JSON.parse(box.open(Buffer.from(sealed, "base64"), settingsOf(owner))) as Hidden;
  if (settings.headers) settings.headers = { ...settings.headers, ...hidden.headers };
  if (hidden.auth !== undefined) settings.auth = hidden.auth;
  return settings;
}

/** Rows of earlier versions hold the values of some headers in clear. */
export function needsSealing({ headers }: StoredSettings): boolean {
  return Object.values(headers ?? {}).some((value) => value !== MASK);
}

/** Another owner than that of the signing secrets: one cannot be put in the place of the other. */
function settingsOf(owner: string): string {
  return `${owner}/settings`;
}
