import { CaptureTag, type Context, filters, Liquid, tags, Token } from "liquidjs";
import { writeExactJson, ExactNumber } from "./exact-json.ts";
import { createPlaceWriter, Landing } from "./place-writers.ts";
import { TEMPLATE_LIMITS } from "./templates.ts";

/** Liquid with only the tags and filters that are listed here. */

const TAGS = ["#", "assign", "break", "case", "comment", "continue", "echo", "for", "if", "raw", "unless"] as const;

/** Filters on texts get numbers as they were written. */
const TEXT_FILTERS = [
  "append",
  "capitalize",
  "downcase",
  "lstrip",
  "prepend",
  "remove",
  "remove_first",
  "remove_last",
  "replace",
  "replace_first",
  "replace_last",
  "rstrip",
  "slice",
  "split",
  "squish",
  "strip",
  "strip_html",
  "strip_newlines",
  "truncate",
  "truncatewords",
  "upcase",
  "url_encode",
  "url_decode",
  "base64_encode",
  "base64_decode",
  "sha256",
] as const;
const OTHER_FILTERS = [
  "abs",
  "at_least",
  "at_most",
  "ceil",
  "compact",
  "concat",
  "date",
  "default",
  "divided_by",
  "first",
  "floor",
  "join",
  "last",
  "map",
  "minus",
  "modulo",
  "plus",
  "reverse",
  "round",
  "size",
  "sort",
  "sum",
  "times",
  "uniq",
  "where",
] as const;

/** Sorted by name, for messages. */
export const FILTER_NAMES: readonly string[] = ["json", ...TEXT_FILTERS, ...OTHER_FILTERS].toSorted();
export const TAG_NAMES: readonly string[] = ["capture", ...TAGS].toSorted();

/** The limit of one rendering, as liquidjs counts it: elements of lists and characters of texts. */
const MAX_ALLOCATED = 4_000_000;

type FilterHandler = (this: unknown, value: unknown, ...given: unknown[]) => unknown;

/**
 * The package counts the lines before a variable from the beginning of the template, for each variable: seconds for a
 * template of 64 KB.
 */
let lineStarts: { input: string; at: number[] } = { input: "", at: [0] };

Token.prototype.getPosition = function (this: Token): [row: number, column: number] {
  if (lineStarts.input !== this.input) {
    const at = [0];
    for (let i = this.input.indexOf("\n"); i >= 0; i = this.input.indexOf("\n", i + 1)) at.push(i + 1);
    lineStarts = { input: this.input, at };
  }
  const { at } = lineStarts;
  let [first, end] = [0, at.length];
  while (end - first > 1) {
    const middle = (first + end) >> 1;
    if ((at[middle] as number) <= this.begin) first = middle;
    else end = middle;
  }
  return [first + 1, this.begin - (at[first] as number) + 1];
};

export function createLanguage(): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    // Output stays a value until it is written; see `place-writers.ts`.
    outputEscape: (value) => (value instanceof Landing ? value : new Landing(value)) as unknown as string,
    // Templates cannot read files.
    templates: {},
    relativeReference: false,
    timezoneOffset: 0,
    locale: "en-US",
    parseLimit: TEMPLATE_LIMITS.maxLength,
    memoryLimit: MAX_ALLOCATED,
  });
  for (const name of Object.keys(tags)) if (!TAG_NAMES.includes(name)) delete liquid.tags[name];
  for (const name of Object.keys(filters)) if (!FILTER_NAMES.includes(name)) liquid.unregisterFilter(name);
  for (const name of TEXT_FILTERS) {
    const handler = filters[name] as FilterHandler;
    liquid.registerFilter(name, function (this: unknown, value: unknown, ...given: unknown[]) {
      return handler.call(this, asWritten(value), ...given.map(asWritten));
    });
  }
  liquid.registerFilter("json", { raw: true, handler: (value: unknown) => new Landing(value, true) });
  liquid.registerTag("capture", BoundedCapture);
  return liquid;
}

function asWritten(value: unknown): unknown {
  if (value instanceof ExactNumber) return value.text;
  if (value instanceof Landing) return value.toString();
  return Array.isArray(value) || typeof value !== "object" || value === null ? value : writeExactJson(value);
}

/** The tag of liquidjs captures without a limit. */
class BoundedCapture extends CaptureTag {
  override *render(ctx: Context): Generator<unknown, void, string> {
    const { variable, templates, liquid } = this as unknown as CaptureParts;
    const text = yield liquid.renderer.renderTemplates(templates, ctx, createPlaceWriter("text"));
    ctx.bottom()[variable] = text;
  }
}

interface CaptureParts {
  variable: string;
  templates: Parameters<Liquid["renderer"]["renderTemplates"]>[0];
  liquid: Liquid;
}
