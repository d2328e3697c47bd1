import type { EventContent } from "../../model/event.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";

/** The place of a rendered text, which decides how the values in it are escaped. */
export type TemplatePlace = "text" | "html" | "json" | "url" | "header";

export interface Template {
  /** The field of the settings that contains it, for messages. */
  readonly name: string;
  readonly text: string;
  readonly place: TemplatePlace;
  /** The gateway's own template, for any event: it is not checked against schemas. */
  readonly isBuiltIn?: boolean;
  /** Further names that only this template may use, each with its fields. */
  readonly own?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The facts about a delivery that templates can use. */
export interface TemplateFacts {
  /** The event; its body is `data`. */
  readonly event: EventContent;
  /** JSON of the webhook's request: `headers` and `query`. */
  readonly request?: string | undefined;
  /** JSON of the publisher's further settings: `metadata`. */
  readonly details?: string | undefined;
  readonly subscription?: { readonly id: string; readonly name: string } | undefined;
  readonly delivery?: { readonly id: string; readonly attempt: number } | undefined;
  /** The values of the names in `Template.own`. */
  readonly own?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
}

export interface EventTypeSchema {
  readonly eventType: string;
  readonly schema: object;
}

/** A fault with `isPassing` is not the template's: the same may be rendered later. */
export type Rendered = { readonly texts: readonly string[] } | { readonly fault: string; readonly isPassing: boolean };

export interface Templates {
  /**
   * Returns their problems by name; empty when they can be used. A field of `data` that is in none of the schemas
   * is a problem; without schemas, every field is allowed. Examinations of one `line` wait for each other.
   */
  examine(
    templates: readonly Template[],
    schemas?: readonly EventTypeSchema[],
    terms?: { line: string; withinMs?: number },
  ): Promise<readonly FieldProblem[]>;
  /**
   * Renders all of them in one call. Never rejects: a fault is a value. Fastest with the same list of templates each
   * time. Waits for others of its `line`, by default those of the subscription.
   */
  render(templates: readonly Template[], facts: TemplateFacts, line?: string): Promise<Rendered>;
  close(): Promise<void>;
}

export const TEMPLATE_LIMITS = {
  maxLength: 65_536,
  maxOutputBytes: 256 * 1024,
} as const;
