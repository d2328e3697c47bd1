import { parseUrl } from "./parse-url.ts";
import type { FieldProblem } from "./subscription-rules.ts";
import type { SubscriptionInput } from "./subscription.ts";
import { isPresetName } from "./target-presets.ts";
import type { TargetInput } from "./target.ts";

/** Rules for targets that a JSON Schema cannot say. */

export function checkTargetInput(input: TargetInput): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (isPresetName(input.name)) {
    problems.push({ field: "name", message: "is the name of a preset; choose another, and write `preset: n8n`" });
  }
  if (input.preset !== undefined && input.url === undefined && input.health_url === undefined) {
    problems.push({ field: "preset", message: "needs url, so that its health can be checked, or health_url" });
  }
  for (const field of ["url", "health_url"] as const) {
    const url = input[field];
    if (url !== undefined && parseUrl(url) === undefined) problems.push({ field, message: "is not a URL" });
  }
  if (input.description?.includes("\0") === true) {
    problems.push({ field: "description", message: "must not contain NUL" });
  }
  return problems;
}

/** n8n refuses what calls itself a bot, when a workflow says so. */
export function checkSubscriptionTarget({ target, headers }: SubscriptionInput): FieldProblem[] {
  if (!isPresetName(target)) return [];
  return Object.entries(headers ?? {})
    .filter(([name, value]) => name.toLowerCase() === "user-agent" && /bot/i.test(value))
    .map(([name]) => ({ field: `headers.${name}`, message: "must not contain `bot`, which n8n refuses" }));
}
