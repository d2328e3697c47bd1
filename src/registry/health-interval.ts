import { PosthornError } from "../domain/errors.ts";

/** Callers that are bound to a tenant must not let the gateway flood somebody with health checks. */
const MIN_BOUND_S = 5;

interface Checked {
  health_interval_s?: number | null | undefined;
}

/** `boundTo` is the tenant of the caller; operators have none. What is stored already may stay. */
export function refuseFrequentChecks(given: Checked, stored: Checked, boundTo: string | undefined): void {
  const { health_interval_s: seconds } = given;
  if (boundTo === undefined || typeof seconds !== "number" || seconds >= MIN_BOUND_S) return;
  if (seconds === stored.health_interval_s) return;
  throw new PosthornError(
    "invalid_field",
    `health_interval_s: ${seconds} is too often. With a key or link of a tenant it is at least ${MIN_BOUND_S}.`,
    { field: "health_interval_s" },
  );
}
