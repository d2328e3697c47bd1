import { Type, type Static } from "typebox";
import { changeOf, fillIn, TenantId, withDefault } from "./shape.ts";

/** What subscriptions send to: it has health and a mode. Several may share one; any other is its own. */

export const MODES = ["NORMAL", "QUEUE"] as const;
export type Mode = (typeof MODES)[number];

const TARGET_NAME_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

/** By which a target goes from NORMAL to QUEUE and back: of one that is shared, and of a subscription's own. */
export const TargetThresholds = {
  health_interval_s: withDefault(
    Type.Number({ minimum: 0.1, maximum: 86_400, description: "Seconds between health checks" }),
    60,
  ),
  failures_to_open: withDefault(
    Type.Integer({ minimum: 1, maximum: 1000, description: "Failures in a row that lead to QUEUE" }),
    3,
  ),
  successes_to_close: withDefault(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: "Successful health checks in a row that lead back to NORMAL, once all that waits was tried",
    }),
    3,
  ),
};
export const THRESHOLDS = ["health_interval_s", "failures_to_open", "successes_to_close"] as const;

/** What may be said of one that several subscriptions share, in posthorn.yaml and in the API alike. */
export const TargetInput = Type.Object(
  {
    name: Type.String({
      pattern: TARGET_NAME_PATTERN,
      hint: "give 1 to 64 small letters, digits, - and _, with a letter or digit in front",
      description: "What subscriptions name in `target`; unique per tenant",
      examples: ["erp"],
    }),
    tenant_id: TenantId,
    preset: Type.Optional(
      Type.Literal("n8n", { description: "What is known of such a target, for all subscriptions that send to it" }),
    ),
    url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: "Where it is; a preset finds its health check there" }),
    ),
    health_url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: 'Answers 2xx and `{"status":"ok"}` while it is well' }),
    ),
    ...TargetThresholds,
    batch_size: withDefault(
      Type.Integer({ minimum: 1, maximum: 32, description: "How many are tried at once in QUEUE" }),
      32,
    ),
    idle_wait_s: withDefault(
      Type.Number({ minimum: 0, maximum: 86_400, description: "Seconds between rounds in QUEUE" }),
      30,
    ),
    max_bytes: Type.Optional(
      Type.Integer({ minimum: 1, description: "Larger bodies are not sent: they become dead letters (`too_large`)" }),
    ),
    description: Type.Optional(Type.String({ maxLength: 2000 })),
  },
  { additionalProperties: false },
);
export type TargetInput = Static<typeof TargetInput>;

/** What is given is changed, null takes it away, and the rest stays. */
export const TargetChange = changeOf(
  TargetInput.properties,
  ["name", "tenant_id"],
  Object.keys(TargetInput.properties),
);
export type TargetChange = { [Name in keyof Omit<TargetInput, "name" | "tenant_id">]?: TargetInput[Name] | null };

/** By which it goes from NORMAL to QUEUE and back. */
export interface TargetRules {
  readonly failuresToOpen: number;
  readonly successesToClose: number;
  readonly batchSize: number;
  readonly idleWaitMs: number;
  readonly checkEveryMs: number;
  /** Between two probes, at most; where there is a health check, that is the probe. */
  readonly maxProbeMs: number;
  /** Without it, a delivery is the probe. */
  readonly health: HealthPlace | undefined;
}

/** What is asked whether a target is well. Only the kind of destination knows what it says. */
export interface HealthPlace {
  /** Of the destination: its sender asks. */
  readonly kind: string;
  readonly url: string;
}

type Rules = Pick<TargetInput, (typeof THRESHOLDS)[number] | "batch_size" | "idle_wait_s">;

export const USUAL_MAX_PROBE_MS = 60_000;

export function toTargetRules(
  input: Rules,
  health: HealthPlace | undefined,
  maxProbeMs = USUAL_MAX_PROBE_MS,
): TargetRules {
  const set = fillIn(TargetInput.properties, input);
  return {
    failuresToOpen: set.failures_to_open,
    successesToClose: set.successes_to_close,
    batchSize: set.batch_size,
    idleWaitMs: set.idle_wait_s * 1000,
    checkEveryMs: set.health_interval_s * 1000,
    maxProbeMs,
    health,
  };
}

export const DEFAULT_RULES: TargetRules = Object.freeze(toTargetRules({}, undefined));
