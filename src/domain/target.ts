import { Type, type Static } from "typebox";
import { DEFAULT_TENANT } from "./event.ts";

/** What subscriptions send to: it has health and a mode. Several may share one; any other is its own. */

export const MODES = ["NORMAL", "QUEUE"] as const;
export type Mode = (typeof MODES)[number];

const TARGET_NAME_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

/** By which a target goes from NORMAL to QUEUE and back: of one that is shared, and of a subscription's own. */
export const TargetThresholds = {
  health_interval_s: Type.Optional(
    Type.Number({ minimum: 0.1, maximum: 86_400, default: 60, description: "Seconds between health checks" }),
  ),
  failures_to_open: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: 3, description: "Failures in a row that lead to QUEUE" }),
  ),
  successes_to_close: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 3,
      description: "Successful health checks in a row that lead back to NORMAL, once all that waits was tried",
    }),
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
    }),
    tenant_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, default: DEFAULT_TENANT })),
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
    batch_size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 32, default: 32, description: "How many are tried at once in QUEUE" }),
    ),
    idle_wait_s: Type.Optional(
      Type.Number({ minimum: 0, maximum: 86_400, default: 30, description: "Seconds between rounds in QUEUE" }),
    ),
    max_bytes: Type.Optional(
      Type.Integer({ minimum: 1, description: "Larger bodies are not sent: they become dead letters (`too_large`)" }),
    ),
    description: Type.Optional(Type.String({ maxLength: 2000 })),
  },
  { additionalProperties: false },
);
export type TargetInput = Static<typeof TargetInput>;

const { name: _, tenant_id: __, ...changeable } = TargetInput.properties;
/** What is given is changed, null takes it away, and the rest stays. */
export const TargetChange = Type.Object(
  Object.fromEntries(
    Object.entries(changeable).map(([name, schema]) => [name, Type.Optional(Type.Union([schema, Type.Null()]))]),
  ),
  { additionalProperties: false },
);
export type TargetChange = { [Name in keyof Omit<TargetInput, "name" | "tenant_id">]?: TargetInput[Name] | null };

/** By which it goes from NORMAL to QUEUE and back. */
export interface TargetRules {
  readonly failuresToOpen: number;
  readonly successesToClose: number;
  readonly batchSize: number;
  readonly idleWaitMs: number;
  readonly checkEveryMs: number;
  /** Without it, a delivery is the probe. */
  readonly health: HealthPlace | undefined;
}

/** What is asked whether a target is well. Only the kind of destination knows what it says. */
export interface HealthPlace {
  /** Of the destination: its sender asks. */
  readonly kind: string;
  readonly url: string;
}

export const DEFAULT_RULES: TargetRules = Object.freeze({
  failuresToOpen: 3,
  successesToClose: 3,
  batchSize: 32,
  idleWaitMs: 30_000,
  checkEveryMs: 60_000,
  health: undefined,
});

type Rules = Pick<TargetInput, (typeof THRESHOLDS)[number] | "batch_size" | "idle_wait_s">;

export function toTargetRules(input: Rules, health: HealthPlace | undefined): TargetRules {
  return {
    failuresToOpen: input.failures_to_open ?? DEFAULT_RULES.failuresToOpen,
    successesToClose: input.successes_to_close ?? DEFAULT_RULES.successesToClose,
    batchSize: input.batch_size ?? DEFAULT_RULES.batchSize,
    idleWaitMs: input.idle_wait_s === undefined ? DEFAULT_RULES.idleWaitMs : input.idle_wait_s * 1000,
    checkEveryMs: input.health_interval_s === undefined ? DEFAULT_RULES.checkEveryMs : input.health_interval_s * 1000,
    health,
  };
}
