import { _, type ErrorObject, type KeywordCxt, type Options, type ValidateFunction } from "ajv";
import { fastFormats, type FormatName } from "ajv-formats/dist/formats.js";
import { RE2JS } from "re2js";
import { createAjv, findSchemaError, WEIGHT } from "./drafts.ts";
import { SchemaFault, TooManySteps, type Mismatch } from "./faults.ts";
import { LIMITS, prepareSchema, type PreparedSchema } from "./prepare-schema.ts";
import { escapeStep } from "./schema-places.ts";

/**
 * A compiled schema. Its check ends after a limited number of steps, whatever the schema and the payload are: ajv's
 * code is meant for trusted schemas, but these come from users.
 */
export interface PayloadSchema {
  /** The errors of a payload; undefined when it is valid. Throws `TooManySteps`. */
  check(payload: unknown, maxSteps: number): readonly Mismatch[] | undefined;
}

const MAX_PATH_LENGTH = 300;
/** Listing all errors must not cost more than finding the first one. */
const MAX_NAMING_STEPS = 100_000;
const MAX_PATTERN_INSTRUCTIONS = 1000;

/** Formats whose expressions take linear time; other formats and unknown ones are ignored. */
const FORMATS: readonly FormatName[] = [
  ...(["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference"] as const),
  ...(["uuid", "byte", "int32", "int64", "float", "double", "json-pointer", "relative-json-pointer"] as const),
];

/** Names that every object inherits, in any spelling, also as part of another name. */
const INHERITED = new RegExp([...Object.getOwnPropertyNames(Object.prototype), String.raw`\\u`].join("|"));

/** Only one check runs at a time, and it runs to its end. */
let stepsLeft = 0;

function spend(steps: number): void {
  stepsLeft -= steps;
  if (stepsLeft < 0) throw new TooManySteps("The check takes too many steps.");
}

/** Throws `SchemaFault`. One that is not trusted is checked against its meta-schema, and tried with some values. */
export function compilePayloadSchema(
  text: string,
  { trusted, limits = "schema" }: { trusted: boolean; limits?: keyof typeof LIMITS },
): PayloadSchema {
  const { maxErrors } = LIMITS[limits];
  const prepared = prepareSchema(text, limits);
  if (!trusted) rejectInvalid(prepared);
  const decide = compile(prepared, false);
  // Compiled on demand, because most schemas never see an invalid payload.
  let name: ValidateFunction | undefined;
  const schema: PayloadSchema = {
    check(payload, maxSteps) {
      if (run(decide, payload, maxSteps)) return undefined;
      const found = decide.errors ?? [];
      name ??= compile(prepared, true);
      try {
        run(name, payload, Math.min(maxSteps, MAX_NAMING_STEPS));
        return describe(name.errors ?? found, maxErrors);
      } catch (error) {
        if (!(error instanceof TooManySteps)) throw error;
        return describe(found, maxErrors);
      }
    },
  };
  if (!trusted) tryOut(decide);
  return schema;
}

function run(validate: ValidateFunction, payload: unknown, maxSteps: number): boolean {
  stepsLeft = maxSteps;
  try {
    return validate(payload);
  } catch (error) {
    // The stack overflowed: the check would continue until its steps are used up.
    if (error instanceof RangeError) throw new TooManySteps("The check goes too deep.", { cause: error });
    throw error;
  }
}

/** One value of each type, with some content. */
const SAMPLES: readonly unknown[] = [null, true, 7, 0.5, "text", "", [], [[], {}, "a", 1, null], {}, { a: { a: [1] } }];
const MAX_TRIAL_STEPS = 100_000;

/** The results do not matter, only that the check ends. */
function tryOut(validate: ValidateFunction): void {
  for (const sample of SAMPLES) {
    try {
      run(validate, sample, MAX_TRIAL_STEPS);
    } catch (error) {
      if (error instanceof TooManySteps && error.cause === undefined) continue;
      throw new SchemaFault(`cannot be run: checked with ${JSON.stringify(sample)}, it does not come to an end`);
    }
  }
}

/** With a new compiler each time: a compiler keeps everything that it ever compiled. */
function compile(prepared: PreparedSchema, allErrors: boolean): ValidateFunction {
  try {
    return createCompiler(prepared, allErrors).compile(prepared.schema);
  } catch (error) {
    if (error instanceof SchemaFault) throw error;
    // The compiler uses one stack frame for each field of an object.
    if (error instanceof RangeError) throw new SchemaFault("does not compile: it has too many parts in one place");
    throw new SchemaFault(`does not compile: ${(error as Error).message}`);
  }
}

function rejectInvalid({ draft, source }: PreparedSchema): void {
  const error = findSchemaError(draft, source);
  if (error === undefined) return;
  throw new SchemaFault(`is not a valid JSON Schema: ${error.instancePath} ${error.message ?? "is not valid"}`);
}

function createCompiler({ draft, schema, assertsFormats }: PreparedSchema, allErrors: boolean) {
  const options: Options = {
    allErrors,
    strict: false,
    logger: false,
    validateSchema: false,
    meta: false,
    useDefaults: false,
    coerceTypes: false,
    removeAdditional: false,
    // Inherited members are not fields of a payload. The check costs time, and most schemas use no such name.
    ownProperties: INHERITED.test(JSON.stringify(schema)),
    // Inlining each reference would turn a small schema into a huge program.
    inlineRefs: false,
    code: { optimize: false, regExp: createPattern },
    validateFormats: assertsFormats,
    formats: Object.fromEntries(FORMATS.map((name) => [name, fastFormats[name]])),
  };
  const ajv = createAjv(draft, options);
  // In a rule group before all others, so that a visit is counted before any work is done.
  ajv.RULES.rules.unshift({ rules: [] });
  ajv.addKeyword({
    keyword: WEIGHT,
    schemaType: "number",
    // As generated code: calling a keyword function with its context object would cost more.
    code({ gen, schema, data }: KeywordCxt) {
      gen.code(_`${gen.scopeValue("func", { ref: payVisit })}(${schema}, ${data});`);
    },
  });
  // Ajv's own version compares all pairs.
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    errors: false,
    error: { message: "must NOT have duplicate items" },
    compile: (isAsked: boolean) => (items: unknown[]) => !isAsked || !hasTwins(items),
  });
  return ajv;
}

function payVisit(weight: number, data: unknown): void {
  spend(weight + sizeOf(data));
}

function sizeOf(data: unknown): number {
  if (typeof data === "string") return data.length >> 4;
  if (typeof data !== "object" || data === null) return 0;
  if (Array.isArray(data)) return data.length;
  let keys = 0;
  for (const _ in data) keys++;
  return keys;
}

function hasTwins(items: readonly unknown[]): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const text = canonicalText(item);
    spend(1 + (text.length >> 2));
    if (seen.has(text)) return true;
    seen.add(text);
  }
  return false;
}

function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  spend(1);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const fields = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${canonicalText(inner)}`);
  return `{${fields.sort().join(",")}}`;
}

/** RE2 takes linear time, but the time also grows with the size of the pattern. */
const createPattern = Object.assign(
  (pattern: string) => {
    let compiled: RE2JS;
    try {
      compiled = RE2JS.compile(RE2JS.translateRegExp(shortenClasses(pattern)));
    } catch (error) {
      const reason = `${(error as Error).message}; look-around and back-references cannot be used`;
      throw new SchemaFault(`has a pattern ${JSON.stringify(pattern)} that cannot be used: ${reason}`);
    }
    const instructions = compiled.programSize();
    if (instructions > MAX_PATTERN_INSTRUCTIONS) {
      throw new SchemaFault(`has a pattern ${JSON.stringify(pattern.slice(0, 60))} that is too large`);
    }
    const simple = findWays(pattern);
    const engine = simple === undefined ? compiled : new RegExp(pattern, "u");
    const ways = simple?.ways ?? 1;
    const isBounded = simple?.isOpen === false;
    return {
      test(text: string): boolean {
        spend(1 + ways * (isBounded ? Math.min(instructions, text.length) : instructions * text.length));
        return engine.test(text);
      },
      // Ajv treats two patterns with the same text as one.
      toString: () => pattern,
    };
  },
  { code: "createPattern" },
);

function describe(errors: readonly ErrorObject[], maxErrors: number): Mismatch[] {
  const known = new Set<string>();
  const mismatches: Mismatch[] = [];
  for (const error of errors) {
    const path = pathOf(error).slice(0, MAX_PATH_LENGTH);
    const message = messageOf(error);
    if (known.has(`${path}\n${message}`)) continue;
    known.add(`${path}\n${message}`);
    mismatches.push({ path, message });
    if (mismatches.length === maxErrors) break;
  }
  return mismatches;
}

function pathOf({ instancePath, keyword, params }: ErrorObject): string {
  const name: unknown =
    params["missingProperty"] ??
    params["additionalProperty"] ??
    params["unevaluatedProperty"] ??
    params["propertyName"];
  if (typeof name !== "string" || keyword === "dependentRequired" || keyword === "dependencies") return instancePath;
  return `${instancePath}/${escapeStep(name)}`;
}

const MAX_SHOWN = 200;

function messageOf({ keyword, params, message = "is not valid" }: ErrorObject): string {
  if (keyword === "required") return "is missing";
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") return "is not a known field";
  if (keyword === "enum") return `must be one of ${JSON.stringify(params["allowedValues"]).slice(0, MAX_SHOWN)}`;
  if (keyword === "const") return `must be ${JSON.stringify(params["allowedValue"]).slice(0, MAX_SHOWN)}`;
  return message.slice(0, MAX_SHOWN);
}

/** A class of ASCII characters, `\d`, an escaped character, or a literal one. */
const ATOM = /\[\^?(?:[A-Za-z0-9_ .,:;@#%&/+=-])+\]|\\[d.+*?()[\]{}|^$/\\]|[A-Za-z0-9_ ,:;@#%&/=~"'<>!-]/y;
const QUANTIFIER = /[?*+]|\{(\d{1,4})(,(\d{1,4})?)?\}/y;
/** The allowed number of ways to split a text among the parts of a pattern, apart from its length. */
const MAX_WAYS = 64;

/**
 * In how many ways JavaScript's own engine may try to match each character of a text, where that has a bound: the
 * pattern is tied to the beginning, has neither groups nor alternatives, and at most one part whose length is open.
 * Then that engine takes linear time as well, a tenth of what RE2 takes here; nearly all patterns of codes, amounts and
 * names are so. Undefined for all others. With an open part (`isOpen`) all that follows may be tried at each character.
 */
export function findWays(pattern: string): { ways: number; isOpen: boolean } | undefined {
  if (!pattern.startsWith("^")) return undefined;
  let at = 1;
  let ways = 1;
  let isOpen = false;
  const take = (expression: RegExp): RegExpExecArray | null => {
    expression.lastIndex = at;
    const found = expression.exec(pattern);
    if (found !== null) at = expression.lastIndex;
    return found;
  };
  while (at < pattern.length) {
    if (pattern[at] === "$") return at === pattern.length - 1 ? { ways, isOpen } : undefined;
    if (take(ATOM) === null) return undefined;
    const quantifier = take(QUANTIFIER);
    if (quantifier === null) continue;
    const [text, least, hasMost, most] = quantifier;
    const isUnbounded = text === "*" || text === "+" || (hasMost !== undefined && most === undefined);
    if (isUnbounded && isOpen) return undefined;
    isOpen ||= isUnbounded;
    if (text === "?") ways *= 2;
    else if (most !== undefined) ways *= Number(most) - Number(least) + 1;
    if (ways > MAX_WAYS || ways < 1) return undefined;
  }
  return { ways, isOpen };
}

/** Unicode's general categories by the long names that ECMAScript knows too; RE2 knows only the short ones. */
const CATEGORIES: ReadonlyMap<string, string> = new Map(
  `Letter L, Cased_Letter LC, Uppercase_Letter Lu, Lowercase_Letter Ll, Titlecase_Letter Lt, Modifier_Letter Lm,
  Other_Letter Lo, Mark M, Combining_Mark M, Nonspacing_Mark Mn, Spacing_Mark Mc, Enclosing_Mark Me, Number N,
  Decimal_Number Nd, digit Nd, Letter_Number Nl, Other_Number No, Punctuation P, punct P, Connector_Punctuation Pc,
  Dash_Punctuation Pd, Open_Punctuation Ps, Close_Punctuation Pe, Initial_Punctuation Pi, Final_Punctuation Pf,
  Other_Punctuation Po, Symbol S, Math_Symbol Sm, Currency_Symbol Sc, Modifier_Symbol Sk, Other_Symbol So,
  Separator Z, Space_Separator Zs, Line_Separator Zl, Paragraph_Separator Zp, Other C, Control Cc, cntrl Cc, Format Cf,
  Surrogate Cs, Private_Use Co, Unassigned Cn`
    .split(",")
    .map((pair) => pair.trim().split(" ") as [string, string]),
);
/** An escaped backslash before a `p` does not begin a class. */
const CLASS = /\\(?:([pP])\{(?:(?:General_Category|gc|Script|sc)=)?(\w+)\}|[^])/g;

function shortenClasses(pattern: string): string {
  return pattern.replace(CLASS, (text, kind: string | undefined, name: string) =>
    kind === undefined ? text : `\\${kind}{${CATEGORIES.get(name) ?? name}}`,
  );
}
