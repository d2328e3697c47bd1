import draft04 from "ajv-draft-04/dist/refs/json-schema-draft-04.json" with { type: "json" };
import draft06 from "ajv/dist/refs/json-schema-draft-06.json" with { type: "json" };
import draft07 from "ajv/dist/refs/json-schema-draft-07.json" with { type: "json" };
import of2019Core from "ajv/dist/refs/json-schema-2019-09/meta/core.json" with { type: "json" };
import of2019Applicator from "ajv/dist/refs/json-schema-2019-09/meta/applicator.json" with { type: "json" };
import of2019Validation from "ajv/dist/refs/json-schema-2019-09/meta/validation.json" with { type: "json" };
import of2019MetaData from "ajv/dist/refs/json-schema-2019-09/meta/meta-data.json" with { type: "json" };
import of2019Format from "ajv/dist/refs/json-schema-2019-09/meta/format.json" with { type: "json" };
import of2019Content from "ajv/dist/refs/json-schema-2019-09/meta/content.json" with { type: "json" };
import of2019 from "ajv/dist/refs/json-schema-2019-09/schema.json" with { type: "json" };
import of2020Core from "ajv/dist/refs/json-schema-2020-12/meta/core.json" with { type: "json" };
import of2020Applicator from "ajv/dist/refs/json-schema-2020-12/meta/applicator.json" with { type: "json" };
import of2020Unevaluated from "ajv/dist/refs/json-schema-2020-12/meta/unevaluated.json" with { type: "json" };
import of2020Validation from "ajv/dist/refs/json-schema-2020-12/meta/validation.json" with { type: "json" };
import of2020MetaData from "ajv/dist/refs/json-schema-2020-12/meta/meta-data.json" with { type: "json" };
import of2020FormatAnnotation from "ajv/dist/refs/json-schema-2020-12/meta/format-annotation.json" with { type: "json" };
import of2020Content from "ajv/dist/refs/json-schema-2020-12/meta/content.json" with { type: "json" };
import of2020 from "ajv/dist/refs/json-schema-2020-12/schema.json" with { type: "json" };

/** The drafts that a schema may be written in, and their meta-schemas. */
export const DRAFTS = ["2020-12", "2019-09", "07", "06", "04"] as const;
export type Draft = (typeof DRAFTS)[number];

const META_SCHEMAS: Readonly<Record<Draft, string>> = {
  "2020-12": "https://json-schema.org/draft/2020-12/schema",
  "2019-09": "https://json-schema.org/draft/2019-09/schema",
  "07": "http://json-schema.org/draft-07/schema",
  "06": "http://json-schema.org/draft-06/schema",
  "04": "http://json-schema.org/draft-04/schema",
};
/** The authors of this URI meant the latest draft. */
const LATEST = "http://json-schema.org/schema";
const DEFAULT_DRAFT: Draft = "2020-12";

/** Undefined when `$schema` names none of them. */
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

/** Before 2019-09, keywords next to `$ref` are ignored, and an id may be an anchor. */
export function isBefore2019(draft: Draft): boolean {
  return draft === "07" || draft === "06" || draft === "04";
}

/** The meta-schema of a draft with the parts that it refers to, from ajv's package. Nothing is fetched. */
const META_DOCUMENTS: Readonly<Record<Draft, readonly object[]>> = {
  "2020-12": [
    of2020,
    of2020Core,
    of2020Applicator,
    of2020Unevaluated,
    of2020Validation,
    of2020MetaData,
    of2020FormatAnnotation,
    of2020Content,
  ],
  "2019-09": [of2019, of2019Core, of2019Applicator, of2019Validation, of2019MetaData, of2019Format, of2019Content],
  "07": [draft07],
  "06": [draft06],
  "04": [draft04],
};

export function metaSchemasOf(draft: Draft): readonly object[] {
  return META_DOCUMENTS[draft];
}

/** The draft whose meta-schema, or a part of it, has this URI without a fragment. */
export function findMetaDraft(uri: string): Draft | undefined {
  return DRAFTS.find((draft) => {
    const metaSchema = META_SCHEMAS[draft];
    return uri === metaSchema || (draft.startsWith("20") && uri.startsWith(`${metaSchema.slice(0, -6)}meta/`));
  });
}
