import { Type, type Static } from "typebox";
import { changeOf, fillIn, optionalText, TenantId, withDefault } from "./shape.ts";

/**
 * The target of subscriptions, with health and a mode. Several subscriptions may share one; otherwise each has its own.
 */

export const MODES = ["NORMAL", "QUEUE"] as const;
export type Mode = (typeof MODES)[number];

const TARGET_NAME_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

/** The settings that move a target from NORMAL to QUEUE and back: for shared targets and for a subscription's own. */
export const TargetThresholds = {
  health_interval_s: withDefault(
    Type.Number({ minimum: 0.1, maximum: 86_400, description: "Seconds between health checks" }),
    60,
  ),
  failures_to_open: withDefault(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description:
        "Failures in a row that lead to QUEUE. Without a health check and when not given, they do so only if nothing was " +
        "accepted for 3 seconds, or after 100 of them",
    }),
    3,
  ),
  successes_to_close: withDefault(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: "Successful health checks in a row that lead back to NORMAL, once all waiting deliveries were tried",
    }),
    3,
  ),
};
export const THRESHOLDS = ["health_interval_s", "failures_to_open", "successes_to_close"] as const;

/** The settings of a shared target, in posthorn.yaml and in the API. */
export const TargetInput = Type.Object(
  {
    name: Type.String({
      pattern: TARGET_NAME_PATTERN,
      hint: "use 1 to 64 lower-case letters, digits, - and _, beginning with a letter or digit",
      description: "The name that subscriptions give in `target`; unique per tenant",
      examples: ["erp"],
    }),
    tenant_id: TenantId,
    preset: Type.Optional(
      Type.Literal("n8n", {
        description: "Settings for a known kind of target, for all subscriptions that send to it",
      }),
    ),
    url: optionalText({
      minLength: 1,
      maxLength: 2048,
      description: "The target's URL; a preset derives its health check from it",
    }),
    health_url: optionalText({
      minLength: 1,
      maxLength: 2048,
      description: 'Must answer 2xx and `{"status":"ok"}` while the target is healthy',
    }),
    ...TargetThresholds,
    batch_size: withDefault(
      Type.Integer({ minimum: 1, maximum: 32, description: "How many deliveries are tried at once in QUEUE" }),
      32,
    ),
    idle_wait_s: withDefault(
      Type.Number({ minimum: 0, maximum: 86_400, description: "Seconds between rounds in QUEUE" }),
      30,
    ),
    max_bytes: Type.Optional(
      Type.Integer({ minimum: 1, description: "Larger bodies are not sent: they become dead letters (`too_large`)" }),
    ),
    description: optionalText({ maxLength: 2000 }),
  },
  { additionalProperties: false },
);
export type TargetInput = Static<typeof TargetInput>;

/** Given fields are changed, null removes a field, and the others stay. */
export const TargetChange = changeOf(
  TargetInput.properties,
  ["name", "tenant_id"],
  Object.keys(TargetInput.properties),
);
export type TargetChange = { [Name in keyof Omit<TargetInput, "name" | "tenant_id">]?: TargetInput[Name] | null };

/** The rules by which a target changes between NORMAL and QUEUE. */
export interface TargetRules {
  readonly failuresToOpen: number;
  /**
   * The target must have accepted nothing for this long before failures in a row lead to QUEUE. 0: these failures are
   * enough.
   */
  readonly sureAfterMs: number;
  readonly successesToClose: number;
  readonly batchSize: number;
  readonly idleWaitMs: number;
  readonly checkEveryMs: number;
  /** The longest time between two probes. If there is a health check, it is the probe. */
  readonly maxProbeMs: number;
  /** Without a health check, a delivery is the probe. */
  readonly health: HealthPlace | undefined;
}

/** The health check of a target. Only the kind of destination can interpret its answer. */
export interface HealthPlace {
  /** The kind of destination whose sender makes the check. */
  readonly kind: string;
  readonly url: string;
}

type Rules = Pick<TargetInput, (typeof THRESHOLDS)[number] | "batch_size" | "idle_wait_s">;

export const USUAL_MAX_PROBE_MS = 60_000;

/**
 * Among many deliveries, three failures in a row can be a coincidence. Only where nobody said how many lead to QUEUE,
 * and no health check says when the target is back.
 */
const SURE_AFTER_MS = 3_000;

export function toTargetRules(
  input: Rules,
  health: HealthPlace | undefined,
  maxProbeMs = USUAL_MAX_PROBE_MS,
): TargetRules {
  const set = fillIn(TargetInput.properties, input);
  return {
    failuresToOpen: set.failures_to_open,
    sureAfterMs: health === undefined && input.failures_to_open === undefined ? SURE_AFTER_MS : 0,
    successesToClose: set.successes_to_close,
    batchSize: set.batch_size,
    idleWaitMs: set.idle_wait_s * 1000,
    checkEveryMs: set.health_interval_s * 1000,
    maxProbeMs,
    health,
  };
}

export const DEFAULT_RULES: TargetRules = Object.freeze(toTargetRules({}, undefined));
