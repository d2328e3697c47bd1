import { _, Ajv, type ErrorObject, type KeywordCxt, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import AjvDraft04 from "ajv-draft-04";
import { fastFormats, type FormatName } from "ajv-formats/dist/formats.js";
import { RE2JS } from "re2js";
import { findWays, shortenClasses } from "./simple-pattern.ts";
import { metaSchemasOf, type Draft } from "./drafts.ts";
import { WEIGHT } from "./keywords.ts";
import { prepareSchema, type PreparedSchema, type SchemaLimits } from "./prepare-schema.ts";
import { SchemaFault } from "./schema-fault.ts";

/**
 * A compiled schema. Its check ends after a limited number of steps, whatever the schema and the payload are: ajv's
 * code is meant for trusted schemas, but these come from users.
 */
export interface PayloadSchema {
  /** The errors of a payload; undefined when it is valid. Throws `TooManySteps`. */
  check(payload: unknown, maxSteps: number): readonly Mismatch[] | undefined;
}

export interface PayloadSchemaOptions {
  /** False: the schema is checked against its meta-schema, which must be compiled for that. */
  trusted: boolean;
  limits?: SchemaLimits | undefined;
  /** How many errors are reported. */
  maxMismatches?: number | undefined;
}

export interface Mismatch {
  /** A JSON Pointer; for XML, an XPath. */
  path: string;
  message: string;
  /** Set for XML. */
  line?: number;
}

export class TooManySteps extends Error {
  override readonly name = "TooManySteps";
}

export const MAX_MISMATCHES = 20;
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

/** Compilers for meta-schemas only, which take long to compile. */
const judges = new Map<Draft, ValidateFunction>();

type Compiler = Ajv | Ajv2019 | Ajv2020 | InstanceType<typeof AjvDraft04.default>;

function createAjv(draft: Draft, options: Options): Compiler {
  switch (draft) {
    case "04":
      return new AjvDraft04.default(options);
    case "06":
    case "07":
      return new Ajv(options);
    case "2019-09":
      return new Ajv2019(options);
    case "2020-12":
      return new Ajv2020(options);
  }
}

/** Throws `SchemaFault`. */
export function compilePayloadSchema(text: string, options: PayloadSchemaOptions): PayloadSchema {
  const { trusted, limits, maxMismatches = MAX_MISMATCHES } = options;
  const prepared = prepareSchema(text, limits);
  if (!trusted) refuseInvalid(prepared);
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
        return describe(name.errors ?? found, maxMismatches);
      } catch (error) {
        if (!(error instanceof TooManySteps)) throw error;
        return describe(found, maxMismatches);
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

function refuseInvalid({ draft, source }: PreparedSchema): void {
  let judge = judges.get(draft);
  if (judge === undefined) {
    judge = createJudge(draft);
    judges.set(draft, judge);
  }
  if (judge(source)) return;
  const [error] = judge.errors ?? [];
  throw new SchemaFault(`is not a valid JSON Schema: ${error?.instancePath ?? ""} ${error?.message ?? "is not valid"}`);
}

function createJudge(draft: Draft): ValidateFunction {
  const ajv = createAjv(draft, { strict: false, meta: false, validateSchema: false, validateFormats: false });
  const [metaSchema = {}, ...vocabularies] = metaSchemasOf(draft);
  ajv.addMetaSchema(vocabularies);
  return ajv.compile(metaSchema);
}

function createCompiler({ draft, schema, assertsFormats }: PreparedSchema, allErrors: boolean): Compiler {
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

function describe(errors: readonly ErrorObject[], maxMismatches: number): Mismatch[] {
  const known = new Set<string>();
  const mismatches: Mismatch[] = [];
  for (const error of errors) {
    const path = pathOf(error).slice(0, MAX_PATH_LENGTH);
    const message = messageOf(error);
    if (known.has(`${path}\n${message}`)) continue;
    known.add(`${path}\n${message}`);
    mismatches.push({ path, message });
    if (mismatches.length === maxMismatches) break;
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
  return `${instancePath}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const MAX_SHOWN = 200;

function messageOf({ keyword, params, message = "is not valid" }: ErrorObject): string {
  if (keyword === "required") return "is missing";
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") return "is not a known field";
  if (keyword === "enum") return `must be one of ${JSON.stringify(params["allowedValues"]).slice(0, MAX_SHOWN)}`;
  if (keyword === "const") return `must be ${JSON.stringify(params["allowedValue"]).slice(0, MAX_SHOWN)}`;
  return message.slice(0, MAX_SHOWN);
}
