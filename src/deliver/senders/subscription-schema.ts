import { Type, type TProperties } from "typebox";
import { DEFAULT_KIND, SharedSettings, type SubscriptionInput } from "../../domain/subscription.ts";
import { KINDS } from "./kinds.ts";

/**
 * All that a user may set, in the API and in posthorn.yaml alike. Kinds whose settings stand in `destination` have
 * nothing here: they are checked when it is known which kind it is.
 */
export const SUBSCRIPTION_FIELDS: TProperties = { ...SharedSettings.properties, ...flatSettings() };

/** What the kind needs that is meant when no other is named. */
const usual = {
  if: { properties: { kind: { not: { const: DEFAULT_KIND } } }, required: ["kind"] },
  else: { required: KINDS.find(({ name }) => name === DEFAULT_KIND)?.settings.required ?? [] },
};

export const SubscriptionSchema = Type.Unsafe<SubscriptionInput>(
  Type.Object(SUBSCRIPTION_FIELDS, { additionalProperties: false, ...usual }),
);

/** None is needed by every kind. */
function flatSettings(): TProperties {
  const flat = KINDS.filter(({ isFlat }) => isFlat === true);
  const fields = flat.flatMap(({ settings }) => Object.entries(settings.properties));
  return Object.fromEntries(fields.map(([field, schema]) => [field, Type.Optional(schema)]));
}
