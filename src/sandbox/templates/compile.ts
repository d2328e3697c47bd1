import { Context, type Liquid, LiquidError, type Template as Part, toValueSync } from "liquidjs";
import { suggestName } from "../../model/nearest-name.ts";
import { createLanguage, FILTER_NAMES, TAG_NAMES } from "./language.ts";
import { createPlaceWriter, TemplateFault } from "./place-writers.ts";
import type { Template } from "./templates.ts";

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

export interface Compiler {
  parse(text: string): Part[];
  /** Throws a TemplateFault. */
  compile(template: Template): CompiledTemplate;
}

export function createCompiler(parts: Partial<CompilerParts> = {}): Compiler {
  const { language = createLanguage(), createWriter = createPlaceWriter, maxSteps = MAX_STEPS } = parts;
  const parse = (text: string) => language.parse(text);
  return {
    parse,
    compile({ name, text, place }) {
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

let usual: Compiler | undefined;

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

/** The content of a tag. */
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
