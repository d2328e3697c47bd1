import { parsePointer } from "../../../model/json.ts";
import type { FieldProblem } from "../../../model/subscription-rules.ts";
import type { SuccessRule } from "../settings.ts";
import { parseAnswer, type GatewayAnswer } from "./gateway.ts";

/** Some gateways answer 200 and say in the body that they did not accept the message. */

export function checkSuccessRule(rule: SuccessRule): FieldProblem[] {
  const { pointer, equals, contains } = rule;
  const field = "success";
  if (equals !== undefined && contains !== undefined) return [{ field, message: "give `equals` or `contains`" }];
  if (equals !== undefined && pointer === undefined) return [{ field, message: "`equals` needs a `pointer`" }];
  if (pointer === undefined) return [];
  try {
    parsePointer(pointer);
  } catch (error) {
    return [{ field: "success.pointer", message: (error as Error).message }];
  }
  const hasRule = equals !== undefined || contains !== undefined;
  return hasRule ? [] : [{ field, message: "`pointer` needs `equals` or `contains` beside it" }];
}

/** Where an answer differs from the rule, without its text; undefined when it fits. */
export function findMisfit(answer: GatewayAnswer, rule: SuccessRule): string | undefined {
  const { statuses, pointer, equals, contains } = rule;
  if (statuses !== undefined && !statuses.includes(answer.status)) return `answered ${answer.status}`;
  if (pointer === undefined) {
    const isThere = contains === undefined || answer.body.includes(contains);
    return isThere ? undefined : `answered ${answer.status} without ${JSON.stringify(contains)}`;
  }
  const value = findAt(parseAnswer(answer), parsePointer(pointer));
  const fits = contains === undefined ? value === equals : typeof value === "string" && value.includes(contains);
  if (fits) return undefined;
  return `answered ${answer.status}, but has ${value === undefined ? "nothing" : "another value"} at ${pointer}`;
}

function findAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
