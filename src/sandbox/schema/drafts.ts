import { Ajv, type ErrorObject, type Options } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import draft06 from "ajv/dist/refs/json-schema-draft-06.json" with { type: "json" };
import AjvDraft04 from "ajv-draft-04";

/** The drafts that a schema may be written in: their meta-schemas and compilers. */
const DRAFTS = {
  "2020-12": { metaSchema: "https://json-schema.org/draft/2020-12/schema", Compiler: Ajv2020 },
  "2019-09": { metaSchema: "https://json-schema.org/draft/2019-09/schema", Compiler: Ajv2019 },
  "07": { metaSchema: "http://json-schema.org/draft-07/schema", Compiler: Ajv },
  "06": { metaSchema: "http://json-schema.org/draft-06/schema", Compiler: Ajv },
  "04": { metaSchema: "http://json-schema.org/draft-04/schema", Compiler: AjvDraft04.default },
} as const;
export type Draft = keyof typeof DRAFTS;
const ALL_DRAFTS = Object.keys(DRAFTS) as Draft[];
/** The authors of this URI meant the latest draft. */
const LATEST = "http://json-schema.org/schema";
const DEFAULT_DRAFT: Draft = "2020-12";

/** Undefined when `$schema` names none of them. */
export function findDraft($schema: unknown): Draft | undefined {
  if ($schema === undefined) return DEFAULT_DRAFT;
  if (typeof $schema !== "string") return undefined;
  const uri = $schema.endsWith("#") ? $schema.slice(0, -1) : $schema;
  if (uri === LATEST) return DEFAULT_DRAFT;
  return ALL_DRAFTS.find((draft) => DRAFTS[draft].metaSchema === uri);
}

export function idKeywordOf(draft: Draft): "id" | "$id" {
  return draft === "04" ? "id" : "$id";
}

/** Before 2019-09, keywords next to `$ref` are ignored, and an id may be an anchor. */
export function isBefore2019(draft: Draft): boolean {
  return draft === "07" || draft === "06" || draft === "04";
}

type Compiler = InstanceType<(typeof DRAFTS)[Draft]["Compiler"]>;

export function createAjv(draft: Draft, options: Options): Compiler {
  return new DRAFTS[draft].Compiler(options);
}

/** Compilers for meta-schemas only, which take long to compile. */
const metaCompilers = new Map<Draft, Compiler>();

function metaCompilerOf(draft: Draft): Compiler {
  const known = metaCompilers.get(draft);
  if (known !== undefined) return known;
  const ajv = createAjv(draft, { strict: false, validateSchema: false, validateFormats: false });
  if (draft === "06") ajv.addMetaSchema(draft06);
  metaCompilers.set(draft, ajv);
  return ajv;
}

/** The first error of a schema by the meta-schema of its draft. */
export function findSchemaError(draft: Draft, schema: unknown): ErrorObject | undefined {
  const ajv = metaCompilerOf(draft);
  return ajv.validate(DRAFTS[draft].metaSchema, schema) ? undefined : ajv.errors?.[0];
}

/** The meta-schema of a draft and the parts that it refers to, as ajv has them. Nothing is fetched. */
export function metaSchemasOf(draft: Draft): readonly unknown[] {
  const known = Object.entries(metaCompilerOf(draft).schemas);
  return known.flatMap(([uri, found]) => (findMetaDraft(uri) === draft && found !== undefined ? [found.schema] : []));
}

/** The draft whose meta-schema, or a part of it, has this URI without a fragment. */
export function findMetaDraft(uri: string): Draft | undefined {
  return ALL_DRAFTS.find((draft) => {
    const { metaSchema } = DRAFTS[draft];
    return uri === metaSchema || (draft.startsWith("20") && uri.startsWith(`${metaSchema.slice(0, -6)}meta/`));
  });
}

/** The keywords of a schema. Other members are ignored. */
export type Json = Record<string, unknown>;

/** Our own keyword for the weight of a visit; removed if a user's schema has it. */
export const WEIGHT = "x-posthorn-weight";

/** Whose value is a schema, a list of schemas, or schemas by name. `items` and `dependencies` may be two of them. */
const APPLIED_ELSEWHERE = "additionalProperties additionalItems contains items propertyNames";
const UNEVALUATED = "unevaluatedItems unevaluatedProperties";
const CONDITIONS = "if then else";
export const SCHEMA_SINGLES = words(`${APPLIED_ELSEWHERE} ${UNEVALUATED} ${CONDITIONS} contentSchema not`);
export const SCHEMA_LISTS = words("allOf anyOf oneOf prefixItems items");
export const SCHEMA_MAPS = words("$defs definitions dependencies dependentSchemas patternProperties properties");
/** Schemas here apply only where something refers to them. */
export const DEFINITIONS = words("$defs definitions contentSchema");
/** Schemas here apply to the same value as the schema around them. */
export const IN_PLACE = words(`allOf anyOf oneOf not ${CONDITIONS} dependencies dependentSchemas`);

const ASSERTIONS = `type enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern
  maxItems minItems uniqueItems maxProperties minProperties required format nullable`;
const IN_04 = `$ref ${ASSERTIONS} additionalItems additionalProperties allOf anyOf definitions $defs dependencies items not
  oneOf patternProperties properties`;
const IN_06 = `${IN_04} const contains propertyNames`;
const IN_07 = `${IN_06} ${CONDITIONS}`;
const IN_2019 = `${IN_07} ${UNEVALUATED} dependentSchemas dependentRequired maxContains minContains $recursiveRef`;
const IN_2020 = `${IN_2019} prefixItems $dynamicRef`;

export const KEYWORDS: Readonly<Record<Draft, ReadonlySet<string>>> = {
  "04": words(IN_04),
  "06": words(IN_06),
  "07": words(IN_07),
  "2019-09": words(IN_2019),
  "2020-12": words(IN_2020),
};

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}
