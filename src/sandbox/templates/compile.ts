import {
  Context,
  Liquid,
  LiquidError,
  type Template as Part,
  toValueSync,
  CaptureTag,
  filters,
  tags,
  Token,
} from "liquidjs";
import { suggestName } from "../../model/nearest-name.ts";
import { createPlaceWriter, TemplateFault, OutputValue } from "./place-writers.ts";
import { type Template, TEMPLATE_LIMITS } from "./templates.ts";
import { writeExactJson, ExactNumber } from "./template-scope.ts";

export interface CompiledTemplate {
  readonly name: string;
  readonly parts: Part[];
  /** Only text and values: an error in one rendering is an error in all. */
  readonly isPlain: boolean;
  /** Throws a TemplateFault. */
  render(facts: object): string;
}

/** A loop over five thousand items with twenty parts each; a tenth of a second for most templates. */
const MAX_STEPS = 100_000;
const MAX_DEPTH = 100;

/** The parts of the compiler; tests replace some to show what each one protects from. */
export interface CompilerParts {
  language: Liquid;
  createWriter: typeof createPlaceWriter;
  maxSteps: number;
}

export function createCompiler(parts: Partial<CompilerParts> = {}) {
  const { language = createLanguage(), createWriter = createPlaceWriter, maxSteps = MAX_STEPS } = parts;
  const parse = (text: string): Part[] => language.parse(text);
  return {
    parse,
    /** Throws a TemplateFault. */
    compile({ name, text, place }: Template): CompiledTemplate {
      const read = inWords(() => parse(text));
      if (isDeeper(read)) throw new TemplateFault(`is nested more than ${MAX_DEPTH} tags deep`, true);
      return {
        name,
        parts: read,
        isPlain: !text.includes("{%"),
        render: (facts) =>
          inWords(() => {
            const limits = { liquid: language, renderLimit: countSteps(maxSteps) };
            const context = new Context(facts, language.options, { sync: true }, limits);
            const writer = createWriter(place);
            toValueSync(language.renderer.renderTemplates(read, context, writer));
            return writer.finish();
          }),
      };
    },
  };
}

let usual: ReturnType<typeof createCompiler> | undefined;

export function parseTemplate(text: string): Part[] {
  return (usual ??= createCompiler()).parse(text);
}

/** Throws a TemplateFault. */
export function compileTemplate(template: Template): CompiledTemplate {
  return (usual ??= createCompiler()).compile(template);
}

/** Level by level: the possible depth of recursion differs from thread to thread. */
function isDeeper(parts: readonly Part[]): boolean {
  let level = parts;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap(childrenOf);
  }
  return false;
}

export function childrenOf(part: Part): Part[] {
  return part.children === undefined ? [] : toValueSync(part.children(false, true));
}

/** Counts steps instead of time: the same template and facts give the same result on every machine. */
function countSteps(maxSteps: number): Context["renderLimit"] {
  let steps = 0;
  const limiter = {
    check() {
      if (++steps > maxSteps) throw new TemplateFault(`does not end within ${maxSteps} steps`, true);
    },
    use: () => undefined,
  };
  return limiter as unknown as Context["renderLimit"];
}

function inWords<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw toFault(error);
  }
}

/** The message of liquidjs. */
const TOO_MUCH = "memory alloc limit";
const PLACE = /, line:(\d+), col:(\d+)$/;

function toFault(error: unknown): TemplateFault {
  const cause = (error as { originalError?: unknown }).originalError ?? error;
  if (cause instanceof TemplateFault) return cause;
  if (cause instanceof RangeError) return new TemplateFault("is nested too deeply, or produces too much", true);
  const message = (error as Error).message;
  if (!LiquidError.is(error)) return new TemplateFault(`cannot be rendered: ${message}`);
  const [, row, column] = PLACE.exec(message) ?? [];
  const where = row === undefined ? "" : ` (line ${row}, column ${column})`;
  const isTooMuch = message.startsWith(TOO_MUCH);
  return new TemplateFault(`${describe(message.replace(PLACE, ""))}${where}`, isTooMuch);
}

function describe(message: string): string {
  const [, filter] = /^undefined filter: (.*)$/.exec(message) ?? [];
  if (filter !== undefined) return `has an unknown filter ${filter}${suggestName(filter, FILTER_NAMES)}`;
  const [, tag] = /^tag "(.*)" not found$/.exec(message) ?? [];
  if (tag !== undefined)
    return `has an unknown tag ${tag}${suggestName(tag, TAG_NAMES) || `; there are ${TAG_NAMES.join(", ")}`}`;
  if (message.startsWith(TOO_MUCH)) return "produces lists or texts that are too large";
  return `cannot be read: ${message}`;
}

/** Liquid with only the tags and filters that are listed here. */

/** Filters on texts get numbers as they were written. */
const TEXT_FILTERS =
  words(`append capitalize downcase lstrip prepend remove remove_first remove_last replace replace_first
  replace_last rstrip slice split squish strip strip_html strip_newlines truncate truncatewords upcase url_encode url_decode
  base64_encode base64_decode sha256`);
const OTHER_FILTERS =
  words(`abs at_least at_most ceil compact concat date default divided_by first floor join json last map
  minus modulo plus reverse round size sort sum times uniq where`);
/** Sorted by name, for messages. */
const FILTER_NAMES = [...TEXT_FILTERS, ...OTHER_FILTERS].toSorted();
const TAG_NAMES = words("# assign break capture case comment continue echo for if raw unless");

function words(text: string): readonly string[] {
  return text.split(/\s+/);
}

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
    outputEscape: (value) => (value instanceof OutputValue ? value : new OutputValue(value)) as unknown as string,
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
    const handler = (filters as Record<string, unknown>)[name] as FilterHandler;
    liquid.registerFilter(name, function (this: unknown, value: unknown, ...given: unknown[]) {
      return handler.call(this, asWritten(value), ...given.map(asWritten));
    });
  }
  liquid.registerFilter("json", { raw: true, handler: (value: unknown) => new OutputValue(value, true) });
  liquid.registerTag("capture", BoundedCapture);
  return liquid;
}

function asWritten(value: unknown): unknown {
  if (value instanceof ExactNumber) return value.text;
  if (value instanceof OutputValue) return value.toString();
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
