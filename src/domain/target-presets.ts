import { parseUrl } from "./parse-url.ts";
import { DEFAULT_KIND, type RetryPolicySpec } from "./subscription.ts";
import type { HealthPlace, TargetInput } from "./target.ts";

/** What is known of targets that many people have, so that nobody must find it out again. */
export interface TargetPreset {
  retryPolicy: RetryPolicySpec;
  /** Statuses that mean "not yet" there, of one source: others may be known to it. */
  sourceStatuses: readonly number[];
  /** A body that says the same with a 200. */
  startingBody: string;
  /** What is larger fails however often it is sent. */
  maxBytes: number;
  /** It reads JSON only as `application/json`, not as `application/x+json`. */
  wantsPlainJson: boolean;
  /** The second is for versions that do not know the first. */
  healthPaths: readonly [string, string];
}

export interface HealthAddress extends HealthPlace {
  /** Asked when the first answers 404. */
  readonly otherUrl: string | undefined;
}

export const PRESET_NAMES = ["n8n"] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/**
 * n8n answers 404, and 200 with a text, while it starts, and 404 for a workflow that is not active; a body over its limit (`N8N_PAYLOAD_SIZE_MAX`, 16 MiB) is a
 * 500 that looks like any other.
 */
const N8N: TargetPreset = {
  retryPolicy: "proxy",
  sourceStatuses: [404],
  startingBody: "n8n is starting up. Please wait",
  maxBytes: 16 * 1024 * 1024,
  wantsPlainJson: true,
  healthPaths: ["/healthz/readiness", "/healthz"],
};

export function isPresetName(name: string | null | undefined): name is PresetName {
  return PRESET_NAMES.some((known) => known === name);
}

export function findPreset(name: string | null | undefined): TargetPreset | undefined {
  return isPresetName(name) ? N8N : undefined;
}

/** Where its health is asked for: what is given, else what the preset knows of the place. */
export function findHealth(
  given: string | null | undefined,
  preset: TargetPreset | undefined,
  url: string | undefined,
): HealthAddress | undefined {
  if (given !== undefined && given !== null) return { kind: DEFAULT_KIND, url: given, otherUrl: undefined };
  const origin = url === undefined ? undefined : parseUrl(url)?.origin;
  if (preset === undefined || origin === undefined) return undefined;
  const [first, second] = preset.healthPaths;
  return { kind: DEFAULT_KIND, url: origin + first, otherUrl: origin + second };
}

/** What a preset adds to a subscription; what the subscription says itself goes first. */
export interface PresetSettings {
  retryPolicy: RetryPolicySpec | undefined;
  sourceStatuses: readonly number[];
  retryBody: string | undefined;
  maxBytes: number | undefined;
  wantsPlainJson: boolean;
}

/** Which preset, and what of it the subscription says itself. */
interface PresetChoice {
  target?: string | null | undefined;
  retry_on?: { statuses?: readonly number[]; body_contains?: string } | undefined;
}

const NONE: PresetSettings = {
  retryPolicy: undefined,
  sourceStatuses: [],
  retryBody: undefined,
  maxBytes: undefined,
  wantsPlainJson: false,
};

export function presetSettings(
  { target, retry_on: retryOn }: PresetChoice,
  shared: Pick<TargetInput, "preset" | "max_bytes"> | undefined,
): PresetSettings {
  const preset = findPreset(shared?.preset ?? target);
  if (preset === undefined) return shared?.max_bytes === undefined ? NONE : { ...NONE, maxBytes: shared.max_bytes };
  return {
    retryPolicy: preset.retryPolicy,
    // Whoever names statuses has decided what they mean.
    sourceStatuses: preset.sourceStatuses.filter((status) => retryOn?.statuses?.includes(status) !== true),
    retryBody: retryOn?.body_contains === undefined ? preset.startingBody : undefined,
    maxBytes: shared?.max_bytes ?? preset.maxBytes,
    wantsPlainJson: preset.wantsPlainJson,
  };
}
