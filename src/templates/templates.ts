import type { EventContent } from "../domain/event.ts";
import type { FieldProblem } from "../domain/subscription-rules.ts";

/** Where a rendered text lands: that decides how the values in it are escaped. */
export type TemplatePlace = "text" | "html" | "json" | "url" | "header";

export interface Template {
  /** The field of the settings that it stands in, for messages. */
  readonly name: string;
  readonly text: string;
  readonly place: TemplatePlace;
  /** The gateway's own, for any event: schemas are not asked. */
  readonly isBuiltIn?: boolean;
  /** Names that only this one knows beside the usual facts, each with its fields. */
  readonly own?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** What templates can say of a delivery. */
export interface TemplateFacts {
  /** Its body is `data`. */
  readonly event: EventContent;
  /** JSON of the request that a webhook came with: `headers` and `query`. */
  readonly request?: string | undefined;
  /** JSON of what else a publisher said: `metadata`. */
  readonly details?: string | undefined;
  readonly subscription?: { readonly id: string; readonly name: string } | undefined;
  readonly delivery?: { readonly id: string; readonly attempt: number } | undefined;
  /** What the templates know beside these, as `Template.own` names it. */
  readonly own?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
}

/** A schema that the payload of an event type has to fit. */
export interface EventTypeSchema {
  readonly eventType: string;
  readonly schema: object;
}

/** A fault that `isPassing` is none of the template: the same may be rendered later. */
export type Rendered = { readonly texts: readonly string[] } | { readonly fault: string; readonly isPassing: boolean };

/** Renders templates, apart from the loop. */
export interface Templates {
  /**
   * What is wrong with them, by their names; empty when they can be used. A field of `data` that none of the schemas
   * knows is a problem; without schemas, every field may be there.
   */
  examine(templates: readonly Template[], schemas?: readonly EventTypeSchema[]): Promise<readonly FieldProblem[]>;
  /**
   * All of them in one call. What goes wrong is a value: never rejects. Fastest with the same list of templates each
   * time.
   */
  render(templates: readonly Template[], facts: TemplateFacts): Promise<Rendered>;
  close(): Promise<void>;
}

export const TEMPLATE_LIMITS = {
  /** Of the text of a template, in characters. */
  maxLength: 65_536,
  /** Of what is made of it. */
  maxOutputBytes: 256 * 1024,
} as const;
