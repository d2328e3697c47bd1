import { Type, type TProperties } from "typebox";
import { SUBSCRIPTION_FIELDS } from "../destinations/subscription-schema.ts";
import { AlertRuleInput } from "../model/alert.ts";
import type { AlertChannel } from "../model/alert-channel.ts";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../model/alert-rules.ts";
import { DEFAULT_KIND } from "../model/subscription.ts";
import { oneOf, withDefault } from "../model/shape.ts";
import { withVariables } from "./setting-schema.ts";

/** Fields of a subscription that a channel sets itself. */
const NOT_OF_A_CHANNEL = ["events", "event_filter", "sources", "mode", "fallback", "drain_within_s"];

const destinationFields: TProperties = Object.fromEntries(
  Object.entries(SUBSCRIPTION_FIELDS).filter(([name]) => !NOT_OF_A_CHANNEL.includes(name)),
);

/** Fields of a channel that a subscription does not have. */
export const CHANNEL_FIELDS = {
  name: Type.String({ minLength: 1, maxLength: 150, description: "A name for people; unique" }),
  kind: withDefault(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: "`log`, or a kind of destination: its settings are written here as in a subscription",
    }),
    DEFAULT_KIND,
  ),
  tenant_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: "Only the alerts of this tenant; by default the alerts of the whole gateway",
    }),
  ),
  rules: Type.Optional(
    Type.Array(oneOf(ALERT_RULE_NAMES), { minItems: 1, maxItems: 100, description: "Only these rules" }),
  ),
  severity: Type.Optional(oneOf(ALERT_SEVERITIES, { description: "Only alerts of at least this severity" })),
  cleared: withDefault(Type.Boolean({ description: "Also report alerts that are cleared" }), true),
};

export const AlertChannelSchema = Type.Unsafe<AlertChannel>(
  Type.Object({ ...destinationFields, ...CHANNEL_FIELDS }, { additionalProperties: false }),
);

/** Settings that have an environment variable. */
export const ALERT_SETTINGS = withVariables("POSTHORN_ALERTS_", {
  enabled: Type.Boolean({ default: true, description: "Whether the gateway looks for problems and raises alerts" }),
  every_s: Type.Number({
    default: 15,
    minimum: 1,
    maximum: 3600,
    description: "Seconds from one evaluation of the rules to the next",
  }),
});

export const AlertsSection = Type.Object(
  {
    ...ALERT_SETTINGS,
    rules: Type.Array(AlertRuleInput, {
      default: [],
      maxItems: 100,
      description: "Changes to the defaults of rules; see [alerts](alerts.md)",
    }),
    channels: Type.Array(AlertChannelSchema, {
      default: [],
      maxItems: 100,
      description: "Where alerts are sent; without a channel they are only logged and listed",
    }),
  },
  { additionalProperties: false, default: {} },
);
