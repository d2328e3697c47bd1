import { Type, type Static } from "typebox";
import { ALERT_RULE_NAMES, ALERT_RULES, ALERT_SEVERITIES, type AlertRule, type AlertRuleName } from "./alert-rules.ts";
import type { AlertSeverity } from "./alert-rules.ts";
import { oneOf } from "./shape.ts";

/**
 * Whose alerts of the whole gateway are. They name things of every tenant, so no tenant that somebody's key may be bound
 * to by chance has them: ids that are made on purpose do not begin like this.
 */
export const GATEWAY_TENANT = "_gateway";

/** How a rule is set in the configuration; what is not given is as `ALERT_RULES` says. */
export const AlertRuleInput = Type.Object(
  {
    rule: oneOf(ALERT_RULE_NAMES, { description: "Which rule this is about" }),
    enabled: Type.Optional(Type.Boolean({ description: "false: nobody is told, and nothing is listed" })),
    threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1e12, description: "Beyond it a value is bad" })),
    margin: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1e12, description: "How far on the good side a value must be to clear" }),
    ),
    window_s: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 86_400, description: "How far back attempts are counted" }),
    ),
    min_attempts: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, description: "Fewer attempts in the window say nothing" }),
    ),
    fires_after: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "Bad evaluations in a row" })),
    clears_after: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "Good evaluations in a row" })),
    cool_down_s: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 2_592_000, description: "Least time between two messages that it fired" }),
    ),
    severity: Type.Optional(oneOf(ALERT_SEVERITIES)),
  },
  { additionalProperties: false },
);
export type AlertRuleInput = Static<typeof AlertRuleInput>;

/** A rule as it is in force. */
export interface ActiveRule extends AlertRule {
  readonly name: AlertRuleName;
  readonly isEnabled: boolean;
}

/** The last word on a rule holds. */
export function toActiveRules(inputs: readonly AlertRuleInput[]): readonly ActiveRule[] {
  return ALERT_RULE_NAMES.map((name) => {
    const usual: AlertRule = ALERT_RULES[name];
    const given = Object.assign({}, ...inputs.filter(({ rule }) => rule === name)) as Partial<AlertRuleInput>;
    return {
      ...usual,
      name,
      isEnabled: given.enabled ?? true,
      threshold: given.threshold ?? usual.threshold,
      margin: given.margin ?? usual.margin,
      ...(usual.windowS !== undefined && { windowS: given.window_s ?? usual.windowS }),
      ...(usual.minAttempts !== undefined && { minAttempts: given.min_attempts ?? usual.minAttempts }),
      firesAfter: given.fires_after ?? usual.firesAfter,
      clearsAfter: given.clears_after ?? usual.clearsAfter,
      coolDownS: given.cool_down_s ?? usual.coolDownS,
      severity: given.severity ?? usual.severity,
    };
  });
}

/** What is wrong, one by one. */
export interface Cause {
  /** The same as long as it is the same thing: its kind and its id or name. */
  readonly key: string;
  /** Undefined for what belongs to the whole gateway. */
  readonly tenantId: string | undefined;
  /** For people. */
  readonly name: string;
  readonly value: number;
  readonly detail?: string | undefined;
}

/** From when it fired to when it cleared. */
export interface Alert {
  readonly id: string;
  /** As they were when it was last written; `count` of them, of which the first are named. */
  readonly causes: readonly Cause[];
  readonly count: number;
  readonly severity: AlertSeverity;
  readonly threshold: number;
  /** Of the worst. */
  readonly value: number;
  /** In wall time, as all that is shown. */
  readonly firedAt: number;
  readonly clearedAt: number | undefined;
  readonly acknowledged: Acknowledgement | undefined;
  /** What was told of it, the latest first. */
  readonly told: readonly Telling[];
  /** Which causes were told, each with how bad it was, so that only news is told again. */
  readonly known: readonly (readonly [digest: string, value: number])[];
}

export interface Acknowledgement {
  readonly at: number;
  /** The id of a key. */
  readonly by: string;
  readonly note: string | undefined;
}

export interface Telling {
  readonly type: "alert.fired" | "alert.cleared";
  readonly eventId: string;
  readonly at: number;
}

export interface Mute {
  /** The whole rule when not given. */
  readonly cause: string | undefined;
  /** In scheduling time; until it is ended by hand when not given. */
  readonly until: number | undefined;
  readonly at: number;
  readonly by: string;
  readonly note: string | undefined;
}

/** All alerts of one rule for one tenant, or for the gateway (tenant `""`): one message for all causes of a kind. */
export interface AlertGroup {
  readonly rule: AlertRuleName;
  readonly tenantId: string;
  readonly current: Alert | undefined;
  /** Those that cleared, the latest first. */
  readonly past: readonly Alert[];
  readonly mutes: readonly Mute[];
  /** In scheduling time: when it was last told that it fired. */
  readonly lastToldAt: number | undefined;
}

/** How many causes a message and a list name. */
export const MAX_NAMED_CAUSES = 20;
