import { Type, type TProperties } from "typebox";
import { DEFAULT_KIND, SharedSettings, type SubscriptionInput } from "../model/subscription.ts";
import { KINDS } from "./kinds.ts";

/**
 * All settings that a user may give, in the API and in posthorn.yaml alike. Settings inside `destination` are not
 * included: they are checked when the kind is known.
 */
export const SUBSCRIPTION_FIELDS: TProperties = { ...SharedSettings.properties, ...flatSettings() };

/** The required settings of the default kind. */
const usual = {
  if: { properties: { kind: { not: { const: DEFAULT_KIND } } }, required: ["kind"] },
  else: { required: KINDS.find(({ name }) => name === DEFAULT_KIND)?.settings.required ?? [] },
};

export const SubscriptionSchema = Type.Unsafe<SubscriptionInput>(
  Type.Object(SUBSCRIPTION_FIELDS, { additionalProperties: false, ...usual }),
);

/** All optional, because no setting is required by every kind. */
function flatSettings(): TProperties {
  const flat = KINDS.filter(({ isFlat }) => isFlat === true);
  const fields = flat.flatMap(({ settings }) => Object.entries(settings.properties));
  return Object.fromEntries(fields.map(([field, schema]) => [field, Type.Optional(schema)]));
}
