import { PosthornError } from "../model/errors.ts";
import { findHealth, findPreset } from "../model/target-presets.ts";

/** Callers that are bound to a tenant must not let the gateway flood somebody with health checks. */
const MIN_BOUND_S = 5;

interface Checked {
  health_interval_s?: number | null | undefined;
}

/**
 * `boundTo` is the tenant of the caller; operators have none. What is stored already may stay: an operator may have set
 * it, for this health check alone.
 */
export function refuseFrequentChecks(given: Checked, stored: Checked, boundTo: string | undefined): void {
  const { health_interval_s: seconds } = given;
  if (boundTo === undefined || typeof seconds !== "number" || seconds >= MIN_BOUND_S) return;
  const health = healthOf(given);
  if (seconds === stored.health_interval_s && (health === undefined || health === healthOf(stored))) return;
  throw new PosthornError(
    "invalid_field",
    `health_interval_s: ${seconds} is too often. With a key or link of a tenant it is at least ${MIN_BOUND_S}.`,
    { field: "health_interval_s" },
  );
}

/** Of a subscription or of a shared target. */
function healthOf(settings: Checked): string | undefined {
  const { health_url: given, url, target, preset } = settings as Readonly<Record<string, unknown>>;
  const known = [target, preset].map((name) => findPreset(textOf(name))).find((one) => one !== undefined);
  return findHealth(textOf(given), known, textOf(url))?.url;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
