import { PosthornError } from "../domain/errors.ts";
import { DEFAULT_TENANT } from "../domain/event.ts";
import { findForwardRival } from "../domain/forward-rules.ts";
import type { Subscription, SubscriptionInput } from "../domain/subscription.ts";
import { checkSubscriptionInput } from "../domain/subscription-rules.ts";
import { type TargetInput, THRESHOLDS } from "../domain/target.ts";
import { isPresetName } from "../domain/target-presets.ts";
import { expandUrl } from "../domain/url-template.ts";
import type { Draft } from "./draft.ts";

export interface SubscriptionCheckOptions {
  /** Refuses a destination that may not be reached. */
  checkDestination: (url: string, field?: string) => void;
  /** Refuses one that leads back to this gateway. */
  checkOwnUrl?: ((url: string) => void) | undefined;
  /** A target that several subscriptions share; with a draft, it must be the same when that is written. */
  findTarget?: ((name: string, tenantId: string, draft?: Draft) => TargetInput | undefined) | undefined;
}

/** Throws for what cannot be a subscription, whatever others there are. */
export function createSubscriptionCheck(
  options: SubscriptionCheckOptions,
): (input: SubscriptionInput, draft: Draft) => void {
  function checkTarget(input: SubscriptionInput, draft: Draft): void {
    const { target, tenant_id: tenantId = DEFAULT_TENANT, health_url: healthUrl } = input;
    const hasHealth = healthUrl !== undefined && healthUrl !== null;
    if (hasHealth) options.checkDestination(healthUrl, "health_url");
    if (target === undefined || target === null || isPresetName(target)) return;
    if (options.findTarget?.(target, tenantId, draft) === undefined) {
      throw new PosthornError(
        "invalid_field",
        `target: "${target}" is neither n8n nor a target of ${tenantId}. Make it first, with POST /api/v1/targets.`,
        { field: "target" },
      );
    }
    const field = hasHealth ? "health_url" : THRESHOLDS.find((name) => input[name] !== undefined);
    if (field === undefined) return;
    throw new PosthornError("invalid_field", `${field}: ${target} is shared; set it there, for all who send to it.`, {
      field,
    });
  }

  return (input, draft) => {
    const [problem] = checkSubscriptionInput(input);
    if (problem !== undefined) {
      throw new PosthornError("invalid_field", `${problem.field}: ${problem.message}`, { field: problem.field });
    }
    const url = expandUrl(input.url, "source");
    options.checkDestination(url);
    if (input.allow_own_url !== true) options.checkOwnUrl?.(url);
    checkTarget(input, draft);
    if (input.auth?.token_url !== undefined) options.checkDestination(input.auth.token_url, "auth.token_url");
  };
}

type Other = Pick<Subscription, "id" | "name">;

export function refuseSameName(name: string, tenantId: string, others: readonly Other[]): void {
  if (!others.some((one) => one.name === name)) return;
  throw new PosthornError(
    "conflict",
    `The tenant ${tenantId} already has a subscription named "${name}". Choose another name.`,
  );
}

export function refuseRival(input: SubscriptionInput, others: readonly Subscription[]): void {
  const rival = findForwardRival(input, others);
  if (rival === undefined) return;
  throw new PosthornError(
    "conflict",
    `mode: the subscription "${rival.name}" (${rival.id}) forwards some of these events already, and a source waits ` +
      "for one only. Choose other patterns, or let one of the two queue.",
    { field: "mode", details: { subscription_id: rival.id } },
  );
}

export function refuseOverQuota(quota: number | undefined, tenantId: string, used: number): void {
  if (quota === undefined || used < quota) return;
  throw new PosthornError(
    "subscription_quota",
    `The tenant ${tenantId} may have ${quota} subscriptions and has ${used}. Delete one, or raise its quota.`,
    { details: { quota, used } },
  );
}
