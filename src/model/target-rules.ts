import { parseUrl } from "./addresses.ts";
import { problemsOf, type FieldProblem } from "./subscription-rules.ts";
import type { TargetInput, HealthPlace } from "./target.ts";
import { type SubscriptionInput, DEFAULT_KIND } from "./subscription.ts";

/** Rules for targets that a JSON Schema cannot express. */

export function checkTargetInput(input: TargetInput): FieldProblem[] {
  const { name, preset, url, health_url: healthUrl, description } = input;
  const isUnchecked = preset !== undefined && url === undefined && healthUrl === undefined;
  return problemsOf([
    ["name", isPresetName(name) && "is the name of a preset; choose another name, and set `preset: n8n`"],
    ["preset", isUnchecked && "needs url, so that its health can be checked, or health_url"],
    ["url", url !== undefined && parseUrl(url) === undefined && "is not a URL"],
    ["health_url", healthUrl !== undefined && parseUrl(healthUrl) === undefined && "is not a URL"],
    ["description", description?.includes("\0") === true && "must not contain NUL"],
  ]);
}

type Named = Pick<SubscriptionInput, "name" | "target">;

/** The shared target of a subscription; without one it has its own target, with the subscription's name. */
export function findSharedTarget<Target extends Pick<TargetInput, "name">>(
  { target }: Named,
  shared: readonly Target[],
): Target | undefined {
  return shared.find(({ name }) => name === target);
}

/** All target names of one tenant: the shared targets, and the subscriptions' own. */
export function toTargetNames(shared: readonly Pick<TargetInput, "name">[], subscriptions: readonly Named[]): string[] {
  const own = subscriptions.filter((one) => findSharedTarget(one, shared) === undefined);
  return [...new Set([...shared, ...own].map(({ name }) => name))];
}

export interface HealthAddress extends HealthPlace {
  /** Used when the first URL answers 404. */
  readonly otherUrl: string | undefined;
}

const PRESET_NAMES = ["n8n"] as const;
type PresetName = (typeof PRESET_NAMES)[number];

/**
 * While it starts, n8n answers 404, or 200 with a text. For a workflow that is not active it answers 404. A body above
 * its limit (`N8N_PAYLOAD_SIZE_MAX`, 16 MiB) gets a 500 like any other. Its 404 is JSON or a page; that of cloudflared,
 * which has no route to it (`http_status:404`), is empty.
 */
const N8N = {
  retryPolicy: "short",
  /** Statuses that mean "not yet" for one source; other sources may work. */
  sourceStatuses: [404],
  /** Statuses that the target never answers without a body: then they come from a tunnel in front of it. */
  emptyStatuses: [404],
  /** A body that means the same with status 200. */
  startingBody: "n8n is starting up. Please wait",
  /** Larger bodies always fail. */
  maxBytes: 16 * 1024 * 1024,
  /** The second path is for versions that do not know the first. */
  healthPaths: ["/healthz/readiness", "/healthz"],
} as const;

export function isPresetName(name: string | null | undefined): name is PresetName {
  return PRESET_NAMES.some((known) => known === name);
}

export function findPreset(name: string | null | undefined): typeof N8N | undefined {
  return isPresetName(name) ? N8N : undefined;
}

/** The health check: the given URL, or else the preset's path at the target. */
export function findHealth(
  given: string | null | undefined,
  preset: typeof N8N | undefined,
  url: string | undefined,
): HealthAddress | undefined {
  if (given !== undefined && given !== null) return { kind: DEFAULT_KIND, url: given, otherUrl: undefined };
  const origin = url === undefined ? undefined : parseUrl(url)?.origin;
  if (preset === undefined || origin === undefined) return undefined;
  const [first, second] = preset.healthPaths;
  return { kind: DEFAULT_KIND, url: origin + first, otherUrl: origin + second };
}

/** The preset's name, and the subscription's own settings for it. */
interface PresetChoice {
  target?: string | null | undefined;
  retry_on?: { statuses?: readonly number[]; body_contains?: string } | undefined;
}

/** The settings that a preset adds to a subscription; the subscription's own settings take precedence. */
export function presetSettings(
  { target, retry_on: { statuses = [], body_contains: retryBody } = {} }: PresetChoice,
  shared: Pick<TargetInput, "preset" | "max_bytes"> | undefined,
) {
  const preset = findPreset(shared?.preset ?? target);
  return {
    retryPolicy: preset?.retryPolicy,
    // Statuses that the user lists have the meaning that the user gave them.
    sourceStatuses: preset?.sourceStatuses.filter((status) => !statuses.includes(status)) ?? [],
    emptyStatuses: preset?.emptyStatuses ?? [],
    retryBody: retryBody === undefined ? preset?.startingBody : undefined,
    maxBytes: shared?.max_bytes ?? preset?.maxBytes,
    // n8n reads JSON only as `application/json`, not as `application/x+json`.
    wantsPlainJson: preset !== undefined,
  };
}
