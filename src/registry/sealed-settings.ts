import { settingsIn, withSettings } from "../deliver/senders/kind-settings.ts";
import type { DestinationKind } from "../deliver/senders/sender.ts";
import type { SharedSettings } from "../domain/subscription.ts";
import type { SecretBox } from "./secret-box.ts";

/**
 * The settings of a subscription as the store keeps them. What may open a door, as the kind of its destination says, is
 * sealed inside of it; the rest stays readable.
 */

export type Settings = Omit<SharedSettings, "secret" | "status"> & Readonly<Record<string, unknown>>;

export type StoredSettings = Settings & {
  /** Base64 of what is sealed; absent when there is nothing to hide, and in rows of earlier versions. */
  sealed?: string;
};

export function sealSettings(settings: Settings, kind: DestinationKind, box: SecretBox, owner: string): StoredSettings {
  const parted = kind.secrets.hide(settingsIn(settings, kind));
  if (parted === undefined) return settings;
  const sealed = box.seal(JSON.stringify(parted.hidden), settingsOf(owner));
  return { ...withSettings(settings, kind, parted.shown), sealed: Buffer.from(sealed).toString("base64") };
}

/** What is sealed of them; without a kind that is known, that may be anything. */
export function findHidden(settings: Settings, kind: DestinationKind | undefined): unknown {
  return kind === undefined ? settings : kind.secrets.hide(settingsIn(settings, kind))?.hidden;
}

/** Without a kind that is known, what is sealed stays so. */
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

/** Rows of earlier versions hold some of it in clear. */
export function needsSealing(stored: StoredSettings, kind: DestinationKind): boolean {
  return kind.secrets.isExposed?.(settingsIn(stored, kind)) === true;
}

/** Another owner than that of the signing secrets: one cannot be put in the place of the other. */
function settingsOf(owner: string): string {
  return `${owner}/settings`;
}
