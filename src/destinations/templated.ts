import { Type } from "typebox";
import { failedHere, refused, type Outcome } from "../model/outcome.ts";
import { orNull, withDefault } from "../model/shape.ts";
import type { FieldCheck } from "../model/subscription-rules.ts";
import type { NeededParts } from "../model/subscription.ts";
import type { Rendered, Template, TemplateFacts, Templates } from "../sandbox/templates/templates.ts";
import { parseObject } from "./json.ts";
import type { Attempt } from "./sender.ts";
import type { EventContent } from "../model/event.ts";

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

const NOTHING: Rendered = Object.freeze({ texts: [] });

/** Renders the templates of a destination for one attempt. Without templates, the renderer is not called. */
export function renderAll(
  templates: Templates,
  list: readonly Template[],
  attempt: Attempt,
  own?: TemplateFacts["own"],
): Rendered | Promise<Rendered> {
  return list.length === 0 ? NOTHING : templates.render(list, { ...toTemplateFacts(attempt), own });
}

/** A setting that is a text, or a template for one. */
export const textSetting = (maxLength: number, description: string) =>
  withDefault(orNull(Type.String({ minLength: 1, maxLength }), { description }), null);

/** The setting `fields_from`. */
export const fieldsFromSetting = (fields: string) =>
  withDefault(
    orNull(Type.Literal("payload"), {
      description: `\`payload\`: ${fields} are taken from the event. Only for keys that are bound to no tenant`,
    }),
    null,
  );

export function isGiven<Settings extends object>(settings: Settings, field: keyof Settings): boolean {
  return (settings[field] ?? null) !== null;
}

/** With `fields_from`: these settings must not be given. */
export function checkTaken<Field extends string>(settings: { [Name in Field]?: unknown }, fields: readonly Field[]) {
  return fields.map((field): FieldCheck => [
    field,
    isGiven(settings, field) && "is taken from the payload because of `fields_from`; leave one of the two out",
  ]);
}

/** Whether a text contains parts that an event fills in. */
export function isTemplate(text: string): boolean {
  return /\{[{%]/.test(text);
}

/** Reads the payload of an event as an object; returns a text when it cannot be read. */
export function readPayload({ body }: EventContent): Readonly<Record<string, unknown>> | string {
  return parseObject(body) ?? "the payload is not a JSON object";
}

/** One text field of the payload. */
export function textIn(payload: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
  return typeof value === "string" && value !== "" ? value : undefined;
}
