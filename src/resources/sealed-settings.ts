import { settingsIn, withSettings } from "../destinations/kind-settings.ts";
import type { DestinationKind } from "../destinations/sender.ts";
import type { SharedSettings } from "../model/subscription.ts";
import type { SecretBox } from "./secret-box.ts";

/**
 * The settings of a subscription as they are stored. The kind of the destination knows which of them are credentials;
 * these are encrypted, the rest stays readable.
 */

export type Settings = Omit<SharedSettings, "secret" | "status"> & Readonly<Record<string, unknown>>;

export type StoredSettings = Settings & {
  /** Base64 of the encrypted settings; absent when there are none. */
  sealed?: string;
};

export function sealSettings(settings: Settings, kind: DestinationKind, box: SecretBox, owner: string): StoredSettings {
  const parted = kind.secrets.hide(settingsIn(settings, kind));
  if (parted === undefined) return settings;
  const sealed = box.seal(JSON.stringify(parted.hidden), settingsOf(owner));
  return { ...withSettings(settings, kind, parted.shown), sealed: Buffer.from(sealed).toString("base64") };
}

/** The settings that are encrypted; when the kind is unknown, they cannot be named. */
export function findHidden(settings: Settings, kind: DestinationKind | undefined): unknown {
  return kind === undefined ? settings : kind.secrets.hide(settingsIn(settings, kind))?.hidden;
}

/** When the kind is unknown, the encrypted settings stay encrypted. */
export function openSettings(
  stored: StoredSettings,
  kind: DestinationKind | undefined,
  box: SecretBox,
  owner: string,
): Settings {
  const { sealed, ...settings } = stored;
  if (sealed === undefined || kind === undefined) return settings;
  const hidden: unknown = JSON.parse(box.open(Buffer.from(sealed, "base64"), settingsOf(owner)));
  return withSettings(settings, kind, kind.secrets.reveal(settingsIn(settings, kind), hidden));
}

/** A different owner than that of the signing secrets, so that one cannot be put in the place of the other. */
function settingsOf(owner: string): string {
  return `${owner}/settings`;
}
