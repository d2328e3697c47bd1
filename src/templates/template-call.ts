import type { FieldProblem } from "../domain/subscription-rules.ts";
import type { SentFacts } from "./template-scope.ts";
import type { EventTypeSchema, Template } from "./templates.ts";

/** To the thread: what is to be looked at, or rendered by sets of templates that it knows or is given. */
export type TemplateCall =
  | { readonly examine: readonly Template[]; readonly schemas: readonly EventTypeSchema[] }
  | { readonly render: readonly RenderJob[] };

export interface RenderJob {
  /** By this number the thread keeps them. */
  readonly set: number;
  readonly templates: readonly Template[] | undefined;
  readonly facts: SentFacts;
}

/** And back. */
export type TemplateReply =
  | { readonly problems: readonly FieldProblem[] }
  /** In the order of the jobs. */
  | { readonly rendered: readonly JobReply[] };

export type JobReply =
  | { readonly texts: readonly string[] }
  | { readonly fault: string }
  /** The thread does not know the set: send it along. */
  | { readonly missing: true };
