import type { Rendered, Template, TemplateFacts, Templates } from "../sandbox/templates/templates.ts";
import type { Attempt } from "./sender.ts";
import { toTemplateFacts } from "./templated.ts";

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
