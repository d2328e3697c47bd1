import type { Json } from "./shapes.ts";

/** Writes schemas in a short form for people. */

const ANY = "anything";
const REFERENCE = "#/components/schemas/";

export function renderType(schema: Json): string {
  const { $ref: ref, type, anyOf, items, format, additionalProperties } = schema;
  if (typeof ref === "string") {
    const name = ref.slice(REFERENCE.length);
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(schema["enum"])) return (schema["enum"] as unknown[]).map(renderValue).join(" | ");
  if ("const" in schema) return renderValue(schema["const"]);
  if (Array.isArray(anyOf)) return (anyOf as Json[]).map(renderType).join(" | ");
  const page = (schema["properties"] as { data?: Json; next_cursor?: Json } | undefined) ?? {};
  if (page.data !== undefined && page.next_cursor !== undefined) {
    return `page of ${renderType(page.data["items"] as Json)}`;
  }
  if (type === "array") return `list of ${renderType((items ?? {}) as Json)}`;
  if (type === "object" && typeof additionalProperties === "object" && schema["properties"] === undefined) {
    return `object of ${renderType(additionalProperties as Json)}`;
  }
  return escape(String(format ?? type ?? ANY));
}

/** The members of an object, one line each; for other schemas the type. */
export function renderFields(schema: Json, schemas: Readonly<Record<string, Json>> = {}): string {
  const { properties, required = [], description, "x-extends": base } = schema;
  const intro = typeof description === "string" ? `<p>${renderText(description)}</p>` : "";
  if (Array.isArray(schema["anyOf"]) || typeof properties !== "object")
    return intro === "" || renderType(schema) !== ANY ? `${intro}<p>${renderType(schema)}</p>` : intro;
  const inherited = typeof base === "string" ? (schemas[base]?.["properties"] ?? {}) : {};
  const own = Object.entries(properties as Record<string, Json>).filter(([name]) => !Object.hasOwn(inherited, name));
  // In answers most members are always present, in requests few are required: the exceptions are marked.
  const areMostRequired = (required as string[]).length * 2 > Object.keys(properties as object).length;
  const unusual = areMostRequired ? "optional" : "required";
  const rows = own.map(([name, member]) => {
    const isUsual = (required as string[]).includes(name) === areMostRequired;
    return `<dt><code>${escape(name)}</code>${isUsual ? "" : ` <i>${unusual}</i>`}</dt><dd>${renderMember(member)}</dd>`;
  });
  const more = typeof base === "string" ? `<p>${renderType({ $ref: REFERENCE + base })}, and:</p>` : "";
  return `${intro}${more}<dl>${rows.join("")}</dl>`;
}

export function renderMember(member: Json): string {
  const { description, default: preset, properties } = member;
  const text = [
    renderType(member),
    typeof description === "string" ? renderText(description) : "",
    preset === undefined || preset === null ? "" : `default ${renderValue(preset)}`,
    renderLimits(member),
  ];
  const inner = typeof properties === "object" ? renderFields({ properties, required: member["required"] ?? [] }) : "";
  return text.filter(Boolean).join(" · ") + inner;
}

function renderLimits(member: Json): string {
  const least = member["minimum"] ?? member["minItems"];
  const most = member["maximum"] ?? member["maxItems"];
  if (most === undefined) return least === undefined || least === 0 ? "" : `at least ${String(least)}`;
  return least === undefined ? `at most ${String(most)}` : `${String(least)} to ${String(most)}`;
}

function renderValue(value: unknown): string {
  return `<code>${escape(JSON.stringify(value))}</code>`;
}

/** Text between backticks is code; there is no other markup. */
export function renderText(text: string): string {
  return escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}

/** Also escapes quotes, for attributes. */
export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

export function escapeAttribute(text: string): string {
  return escape(text).replaceAll('"', "&quot;");
}
