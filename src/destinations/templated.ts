import { failedHere, refused, type Outcome } from "../model/outcome.ts";
import type { NeededParts } from "../model/subscription.ts";
import type { Rendered, Template, TemplateFacts } from "../sandbox/templates/templates.ts";
import type { Attempt } from "./sender.ts";

/** Shared by the kinds of destinations that use templates. */

export function toTemplateFacts(attempt: Attempt): TemplateFacts {
  const { deliveryId, number, event, request, details, subscription } = attempt;
  return { event, request, details, subscription, delivery: { id: deliveryId, attempt: number } };
}

/** The outcome of a delivery whose templates could not be rendered. It says nothing about the destination. */
export function unrendered({ fault, isPassing }: Extract<Rendered, { fault: string }>): Outcome {
  return isPassing ? failedHere(fault) : refused(fault, { result: "error", says: "nothing" });
}

/** The parts of an event that the templates use, for `PreparedDestination.needs`. */
export function neededBy(templates: readonly Template[]): NeededParts | undefined {
  const mention = (name: RegExp) => templates.some(({ text }) => name.test(text));
  const request = mention(/\b(?:headers|query)\b/);
  const details = mention(/\bmetadata\b/);
  return request || details ? { request, details } : undefined;
}
