import type { FieldProblem } from "../../model/subscription-rules.ts";
import { GATEWAYS } from "./gateways/gateways.ts";
import type { SmsSettings } from "./settings.ts";

const SENDER = /^(?:\+?[0-9]{3,15}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$/;

/** Rules that the schema cannot express. The sender checks whether phone numbers are valid. */
export function checkSmsSettings(settings: SmsSettings): FieldProblem[] {
  const { from } = settings;
  const problems = [...checkFields(settings), ...GATEWAYS[settings.gateway].check(settings)];
  if (from && !SENDER.test(from)) {
    problems.push({ field: "from", message: "must be a number, or a name of up to 11 letters, digits and spaces" });
  }
  return problems;
}

const FROM_PAYLOAD = ["to", "text"] as const;

function checkFields(settings: SmsSettings): FieldProblem[] {
  const isGiven = (name: keyof SmsSettings) => (settings[name] ?? null) !== null;
  if (settings.fields_from === "payload") {
    const message = "is taken from the payload because of `fields_from`; leave one of the two out";
    return FROM_PAYLOAD.filter(isGiven).map((field) => ({ field, message }));
  }
  return FROM_PAYLOAD.filter((field) => !isGiven(field)).map((field) => ({ field, message: "is missing" }));
}
