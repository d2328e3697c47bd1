import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { SentFacts } from "./template-scope.ts";
import type { EventTypeSchema, Template } from "./templates.ts";

/** A call to the thread: examine templates, or render with sets that it knows or gets. */
export type TemplateCall =
  | { readonly examine: readonly Template[]; readonly schemas: readonly EventTypeSchema[] }
  | { readonly render: readonly RenderJob[] };

export interface RenderJob {
  /** The number under which the thread keeps the set. */
  readonly set: number;
  readonly templates: readonly Template[] | undefined;
  readonly facts: SentFacts;
}

/** The reply of the thread. */
export type TemplateReply =
  | { readonly problems: readonly FieldProblem[] }
  /** In the order of the jobs. */
  | { readonly rendered: readonly JobReply[] };

export type JobReply =
  | { readonly texts: readonly string[] }
  | { readonly fault: string }
  /** The thread does not know the set: send it again with its templates. */
  | { readonly missing: true };
