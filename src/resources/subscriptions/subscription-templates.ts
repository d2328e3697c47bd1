import { fieldOf, templatesIn } from "../../destinations/kind-settings.ts";
import type { DestinationKind } from "../../destinations/sender.ts";
import { PosthornError } from "../../model/errors.ts";
import type { SubscriptionInput } from "../../model/subscription.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { Template } from "../../sandbox/templates/templates.ts";
import type { Settings } from "../sealed-settings.ts";

/** Finds what is wrong with templates for events of these patterns. Tenants do not wait for each other. */
export type ExamineTemplates = (
  templates: readonly Template[],
  events: readonly string[],
  tenantId: string,
) => Promise<readonly FieldProblem[]>;

/** Throws for templates that cannot be used. Unchanged templates are not checked again. */
export async function refuseTemplates(
  input: SubscriptionInput,
  kind: DestinationKind,
  known: Settings | undefined,
  tenantId: string,
  examine: ExamineTemplates | undefined,
): Promise<void> {
  const templates = templatesIn(input, kind);
  if (examine === undefined || templates.length === 0 || isExamined(input, templates, kind, known)) return;
  const [problem] = await examine(templates, input.events, tenantId);
  if (problem === undefined) return;
  const field = fieldOf(problem.field, kind);
  const end = problem.message.endsWith("?") ? "" : ".";
  throw new PosthornError("invalid_field", `${field}: ${problem.message}${end}`, { field });
}

/** A schema that changed later must not block a change of other settings. */
function isExamined(
  input: SubscriptionInput,
  templates: readonly Template[],
  kind: DestinationKind,
  known: Settings | undefined,
): boolean {
  if (known === undefined) return false;
  const before = [templatesIn(known, kind), known.events];
  return JSON.stringify(before) === JSON.stringify([templates, input.events]);
}
