import { parseUrl } from "./parse-url.ts";
import type { FieldProblem } from "./subscription-rules.ts";
import { isPresetName } from "./target-presets.ts";
import type { TargetInput } from "./target.ts";

/** Rules for targets that a JSON Schema cannot express. */

export function checkTargetInput(input: TargetInput): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (isPresetName(input.name)) {
    problems.push({ field: "name", message: "is the name of a preset; choose another name, and set `preset: n8n`" });
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
