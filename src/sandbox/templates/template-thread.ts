import type { FieldProblem } from "../../model/subscription-rules.ts";
import { serveCalls } from "../threads/serve-calls.ts";
import { type CompiledTemplate, compileTemplate } from "./compile.ts";
import { findUnknown } from "./known-fields.ts";
import { TemplateFault } from "./place-writers.ts";
import type { JobReply, RenderJob, TemplateCall, TemplateReply } from "./open-templates.ts";
import { toScope } from "./template-scope.ts";
import type { EventTypeSchema, Template } from "./templates.ts";

const MAX_SETS = 1000;
const sets = new Map<number, readonly CompiledTemplate[]>();

function answer(call: TemplateCall): TemplateReply {
  if ("render" in call) return { rendered: call.render.map(renderJob) };
  return { problems: call.examine.flatMap((template) => examine(template, call.schemas)) };
}

function examine(template: Template, schemas: readonly EventTypeSchema[]): FieldProblem[] {
  const { name: field } = template;
  try {
    const compiled = compileTemplate(template);
    const known = template.isBuiltIn === true ? [] : schemas;
    const message = findUnknown(compiled.parts, known, template.own) ?? findCertainFault(compiled);
    return message === undefined ? [] : [{ field, message }];
  } catch (error) {
    return [{ field, message: inWords(error) }];
  }
}

/** Renders without facts to find errors that will occur with any event. */
function findCertainFault({ isPlain, render }: CompiledTemplate): string | undefined {
  try {
    render({});
    return undefined;
  } catch (error) {
    return isPlain || (error instanceof TemplateFault && error.isCertain) ? inWords(error) : undefined;
  }
}

function renderJob({ set, templates, facts }: RenderJob): JobReply {
  let name = "";
  try {
    const compiled = sets.get(set) ?? (templates && keep(set, templates.map(compileTemplate)));
    if (compiled === undefined) return { missing: true };
    const scope = toScope(facts);
    const texts: string[] = [];
    for (const one of compiled) {
      ({ name } = one);
      texts.push(one.render(scope));
    }
    return { texts };
  } catch (error) {
    return { fault: `${name === "" ? "a template" : name} ${inWords(error)}` };
  }
}

function keep(set: number, compiled: readonly CompiledTemplate[]): readonly CompiledTemplate[] {
  // Drop the oldest set; if it is still in use, it is sent again.
  const [oldest] = sets.size >= MAX_SETS ? sets.keys() : [];
  if (oldest !== undefined) sets.delete(oldest);
  sets.set(set, compiled);
  return compiled;
}

function inWords(error: unknown): string {
  if (error instanceof TemplateFault) return error.message;
  return `cannot be rendered: ${error instanceof Error ? error.message : String(error)}`;
}

serveCalls((call: TemplateCall) => Promise.resolve(answer(call)));
