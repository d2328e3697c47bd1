import { createRequire } from "node:module";

/** What a schema may say it is written in, and the schemas that describe these languages. */
export const DRAFTS = ["2020-12", "2019-09", "07", "06", "04"] as const;
export type Draft = (typeof DRAFTS)[number];

const META_SCHEMAS: Readonly<Record<Draft, string>> = {
  "2020-12": "https://json-schema.org/draft/2020-12/schema",
  "2019-09": "https://json-schema.org/draft/2019-09/schema",
  "07": "http://json-schema.org/draft-07/schema",
  "06": "http://json-schema.org/draft-06/schema",
  "04": "http://json-schema.org/draft-04/schema",
};
/** Its authors meant the latest draft by it. */
const LATEST = "http://json-schema.org/schema";
const DEFAULT_DRAFT: Draft = "2020-12";

/** Undefined where `$schema` names none of them. */
export function findDraft($schema: unknown): Draft | undefined {
  if ($schema === undefined) return DEFAULT_DRAFT;
  if (typeof $schema !== "string") return undefined;
  const uri = $schema.endsWith("#") ? $schema.slice(0, -1) : $schema;
  if (uri === LATEST) return DEFAULT_DRAFT;
  return DRAFTS.find((draft) => META_SCHEMAS[draft] === uri);
}

export function idKeywordOf(draft: Draft): "id" | "$id" {
  return draft === "04" ? "id" : "$id";
}

/** Before 2019-09 whatever stands beside `$ref` says nothing, and an id may be the name of a place. */
export function isBefore2019(draft: Draft): boolean {
  return draft === "07" || draft === "06" || draft === "04";
}

const VOCABULARIES: Partial<Record<Draft, readonly string[]>> = {
  "2020-12": ["core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content"],
  "2019-09": ["core", "applicator", "validation", "meta-data", "format", "content"],
};

const require = createRequire(import.meta.url);

/** The schema of a draft, with the parts that it refers to, as ajv brings them along. Nothing is fetched. */
export function loadMetaSchemas(draft: Draft): readonly object[] {
  if (draft === "04") return [require("ajv-draft-04/dist/refs/json-schema-draft-04.json") as object];
  const vocabularies = VOCABULARIES[draft];
  if (vocabularies === undefined) return [require(`ajv/dist/refs/json-schema-draft-${draft}.json`) as object];
  const folder = `ajv/dist/refs/json-schema-${draft}`;
  return [
    require(`${folder}/schema.json`) as object,
    ...vocabularies.map((name) => require(`${folder}/meta/${name}.json`) as object),
  ];
}

/** Whose meta-schema, or part of one, a URI without a fragment names. */
export function findMetaDraft(uri: string): Draft | undefined {
  return DRAFTS.find((draft) => {
    const metaSchema = META_SCHEMAS[draft];
    return uri === metaSchema || (draft.startsWith("20") && uri.startsWith(`${metaSchema.slice(0, -6)}meta/`));
  });
}
