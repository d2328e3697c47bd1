import { PosthornError } from "../model/errors.ts";
import { MASK } from "../model/secrets.ts";
import { fieldOf } from "./kind-settings.ts";
import type { SettingsSecrets } from "./sender.ts";

const fieldsOf = (settings: object): Readonly<Record<string, unknown>> => Object.fromEntries(Object.entries(settings));

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
    Object.fromEntries(
      Object.entries(settings).map(([field, value]) => [field, isSecret(field, value) ? map(field, value) : value]),
    );

  function findCarried(given: object, stored: object, isWhole: boolean): string | undefined {
    const [wished, known] = [fieldsOf(given), fieldsOf(stored)];
    const isKept = (field: string) => wished[field] === MASK || (wished[field] === undefined && !isWhole);
    const carried = secrets.find((field) => (known[field] ?? null) !== null && isKept(field));
    return carried && fieldOf(carried, {});
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
    restore(given, stored) {
      const known = fieldsOf(stored);
      const restore = (field: string, value: unknown) => (value === MASK ? (known[field] ?? value) : value);
      return mapSecrets(given, restore) as Partial<Settings>;
    },
    findCarried,
    refuseCarried(given, stored, isWhole) {
      const [wished, known] = [fieldsOf(given), fieldsOf(stored)];
      if (!place.some((field) => wished[field] !== undefined && wished[field] !== known[field])) return;
      const field = findCarried(given, stored, isWhole);
      if (field === undefined) return;
      throw new PosthornError("invalid_field", `${field}: the destination has changed; give it again.`, { field });
    },
  };
}
