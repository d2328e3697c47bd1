import * as Doc from "./shapes.ts";

export type SchemaWriter = ReturnType<typeof createSchemaWriter>;

/** Turns schemas into schemas of the document: a named schema is written once and referred to. */
export function createSchemaWriter() {
  const components: Record<string, Doc.Json> = {};

  function write(schema: object): Doc.Json {
    const name = Doc.nameOf(schema);
    if (name === undefined) return writeMembers(schema);
    if (components[name] === undefined) {
      // Registered before its members, which may refer back to it.
      components[name] = {};
      components[name] = writeMembers(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  function writeMembers(schema: object): Doc.Json {
    const written: Doc.Json = {};
    for (const [key, value] of Object.entries({ ...simplify(schema as Doc.Json), ...Doc.notesOf(schema) })) {
      written[key] = key === "examples" ? value : writeValue(value);
    }
    return written;
  }

  function writeValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(writeValue);
    return typeof value === "object" && value !== null ? write(value) : value;
  }

  return { write, components };
}

/** Simplifies a schema, because people read it. */
function simplify(schema: Doc.Json): Doc.Json {
  const { anyOf, patternProperties, ...rest } = schema;
  if (Array.isArray(anyOf)) {
    const shown = anyOf.filter((one: Doc.Json) => one["deprecated"] !== true);
    if (shown.length < anyOf.length) return simplify({ ...rest, anyOf: shown });
    if (anyOf.every((one: Doc.Json) => "const" in one))
      return { ...rest, enum: anyOf.map((one: Doc.Json) => one["const"]) };
  }
  if (Object.keys(patternProperties ?? {}).join() === "^.*$") {
    return { ...rest, additionalProperties: Object.values(patternProperties as Doc.Json)[0] };
  }
  return schema;
}
