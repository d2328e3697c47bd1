import { code, join, make, richText, type Content } from "./dom.ts";
import { REFERENCE, type Schema, type Schemas } from "./openapi.ts";

/** Shows schemas in a short form for people. */

const ANY = "anything";

export function showType(schema: Schema): Content[] {
  const { $ref: ref, type, anyOf, items, format, additionalProperties, properties } = schema;
  if (ref !== undefined) {
    const name = ref.slice(REFERENCE.length);
    return [make("a", { href: `#schema-${name}` }, name)];
  }
  if (schema.enum !== undefined) return join(schema.enum.map(showValue), " | ");
  if ("const" in schema) return showValue(schema.const);
  if (anyOf !== undefined) return join(anyOf.map(showType), " | ");
  if (properties?.["data"]?.items !== undefined && properties["next_cursor"] !== undefined) {
    return ["page of ", ...showType(properties["data"].items)];
  }
  if (type === "array") return ["list of ", ...showType(items ?? {})];
  if (type === "object" && typeof additionalProperties === "object" && properties === undefined) {
    return ["object of ", ...showType(additionalProperties)];
  }
  return [format ?? type ?? ANY];
}

/** The members of an object, one line each; for other schemas the type. */
export function showFields(schema: Schema, schemas: Schemas = {}): HTMLElement[] {
  const { properties, required = [], description, "x-extends": base } = schema;
  const intro = description === undefined ? [] : [make("p", {}, ...richText(description))];
  if (schema.anyOf !== undefined || properties === undefined) {
    const type = showType(schema);
    return intro.length === 0 || type[0] !== ANY ? [...intro, make("p", {}, ...type)] : intro;
  }
  const inherited = base === undefined ? {} : (schemas[base]?.properties ?? {});
  const own = Object.entries(properties).filter(([name]) => !Object.hasOwn(inherited, name));
  // In answers most members are always present, in requests few are required: the exceptions are marked.
  const areMostRequired = required.length * 2 > Object.keys(properties).length;
  const unusual = areMostRequired ? "optional" : "required";
  const rows = own.flatMap(([name, member]) => {
    const isUsual = required.includes(name) === areMostRequired;
    const mark = isUsual ? [] : [" ", make("i", {}, unusual)];
    return [make("dt", {}, code(name), ...mark), make("dd", {}, ...showMember(member))];
  });
  const more = base === undefined ? [] : [make("p", {}, ...showType({ $ref: REFERENCE + base }), ", and:")];
  return [...intro, ...more, make("dl", {}, ...rows)];
}

export function showMember(member: Schema): Content[] {
  const { description, default: preset, properties, required = [] } = member;
  const facts = [
    showType(member),
    description === undefined || description === "" ? [] : richText(description),
    preset === undefined || preset === null ? [] : ["default ", ...showValue(preset)],
    describeLimits(member),
  ].filter((fact) => fact.length > 0);
  return [...join(facts, " · "), ...(properties === undefined ? [] : showFields({ properties, required }))];
}

function describeLimits(member: Schema): string[] {
  const least = member.minimum ?? member.minItems;
  const most = member.maximum ?? member.maxItems;
  if (most === undefined) return least === undefined || least === 0 ? [] : [`at least ${least}`];
  return [least === undefined ? `at most ${most}` : `${least} to ${most}`];
}

function showValue(value: unknown): Content[] {
  return [code(JSON.stringify(value))];
}
