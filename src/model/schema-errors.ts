/** An error of a JSON Schema, as both validators report it. */
export interface SchemaError {
  readonly keyword: string;
  /** A JSON pointer. */
  readonly instancePath: string;
  readonly params: object;
  readonly message?: string | undefined;
}

const OF_CHOICES: ReadonlySet<string> = new Set(["const", "enum", "type", "anyOf", "oneOf"]);

/**
 * What is wrong, for people. A choice is a union of constants, of which each reports an error of its own that does not
 * name the others: the choices of all errors at one place are named together. `all` are the errors of the same check.
 */
export function describeSchemaError(error: SchemaError, all: readonly SchemaError[]): string {
  const here = all.filter(({ instancePath }) => instancePath === error.instancePath);
  const choices = [...new Set(here.flatMap(choicesOf))];
  if (choices.length === 0 || here.some(({ keyword }) => !OF_CHOICES.has(keyword))) {
    return error.message ?? "is not valid";
  }
  const named = new Set<string>(choices.map((choice) => (choice === null ? "null" : typeof choice)));
  const types = [...new Set(here.flatMap(typesOf))].filter((type) => !named.has(type));
  const texts = choices.map(String);
  const others = types.map((type) => (type === "null" ? type : `a value of the type ${type}`));
  if (texts.length + others.length === 1) return `must be ${texts.join("")}`;
  return `must be one of ${texts.join(", ")}${others.map((other) => `, or ${other}`).join("")}`;
}

function choicesOf({ keyword, params }: SchemaError): readonly unknown[] {
  const { allowedValue, allowedValues = [] } = params as { allowedValue?: unknown; allowedValues?: readonly unknown[] };
  if (keyword === "const") return [allowedValue];
  return keyword === "enum" ? allowedValues : [];
}

function typesOf({ keyword, params }: SchemaError): readonly string[] {
  const { type = [] } = params as { type?: string | readonly string[] };
  return keyword === "type" ? [type].flat() : [];
}
