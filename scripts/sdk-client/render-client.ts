import { type Method, type OpenApiDocument, propertiesOf, readMethods, toPascal } from "./operations.ts";
import { renderComment, renderDeclaration, renderType, type Schema } from "./schema-types.ts";

const HEAD = "// Made by scripts/write-sdk-client.ts from the gateway's routes. Do not edit.\n";
/** Written by hand in sdk/src/client, with the types of the document. */
const BY_HAND = new Set(["POST /api/v1/events", "GET /api/v1/stream"]);

const isByHand = ({ verb, path }: Method) => BY_HAND.has(`${verb} ${path}`);

/** The files of sdk/src/generated, by name. */
export function renderClient(document: OpenApiDocument): Readonly<Record<string, string>> {
  const methods = readMethods(document);
  const shapes = new Map(Object.entries(document.components.schemas));
  const signatures = methods.map((method) => ({ method, signature: readSignature(method, shapes) }));
  const generated = signatures.filter(({ method }) => !isByHand(method));
  const stream = methods.find(({ group }) => group === "stream");
  return {
    "shapes.ts": HEAD + renderShapes(shapes, stream),
    "resources.ts": HEAD + renderResources(generated),
  };
}

function renderShapes(shapes: ReadonlyMap<string, Schema>, stream: Method | undefined): string {
  const all = Object.fromEntries(shapes);
  const declarations = Object.entries(all).map(([name, schema]) => renderDeclaration(name, schema, all));
  const frames = stream?.answers[0]?.schema["x-frames"] as Readonly<Record<string, Schema>> | undefined;
  const members = Object.entries(frames ?? {}).map(([name, schema]) => `  ${name}: ${renderType(schema)};\n`);
  const streamFrames = `/** The data of each frame of the live stream, by its \`event\`. */\nexport interface StreamFrames {\n${members.join("")}}\n`;
  return ["", ...declarations, streamFrames].join("\n");
}

/** The declaration of a method, and its implementation. */
interface Signature {
  parameters: readonly string[];
  returns: string;
  call: string;
  /** Types of shapes.ts. */
  uses: ReadonlySet<string>;
}

function readSignature(method: Method, shapes: Map<string, Schema>): Signature {
  const { verb, path, pathParameters, query, body, answers } = method;
  const prefix = toPascal(method.group) + (method.name === method.group ? "" : toPascal(method.name));
  const uses = new Set<string>();

  /** Gives a name to a shape without one. */
  function nameShape(schema: Schema, suffix: string): string {
    const type = renderType(schema);
    const [, simple] = /^([A-Z][A-Za-z]*)(\[\])?$/.exec(type) ?? [];
    if (simple !== undefined && shapes.has(simple)) {
      uses.add(simple);
      return type;
    }
    if (!type.includes("{") && !/[A-Z]/.test(type.replaceAll(/"[^"]*"|Record/g, ""))) return type;
    const name = isByHand(method) && method.group === "stream" ? `Stream${suffix}` : prefix + suffix;
    if (shapes.has(name) && shapes.get(name) !== schema) throw new Error(`two shapes have the name ${name}`);
    shapes.set(name, schema);
    uses.add(name);
    return name;
  }

  const names = pathParameters.map((name) => toParameterName(name));
  const parameters = names.map((name) => `${name}: string`);
  const parts: string[] = [];
  const isRaw = body !== undefined && renderType(body.schema) === "unknown";
  if (body !== undefined && !isEmpty(body.schema)) {
    parameters.push(`body${body.isRequired ? "" : "?"}: ${isRaw ? "Payload" : nameShape(body.schema, "Body")}`);
    parts.push(isRaw ? "bytes: body" : "body");
  }
  if (query.length > 0) {
    const required = query.filter((one) => one.required === true).map(({ name }) => name);
    parameters.push(`query${required.length > 0 ? "" : "?"}: ${nameShape(toQuerySchema(method, required), "Query")}`);
    parts.push("query");
  }
  if (isKeyed(method)) parts.push("isKeyed: true");
  parameters.push(`options?: ${optionsOf(method, isRaw)}`);
  const place = names.length === 0 ? JSON.stringify(path) : writePath(path);
  const [answer] = answers;
  const page = answer === undefined ? undefined : propertiesOf(answer.schema);
  if (answer?.type === "application/x-ndjson") {
    const line = (answer.schema["x-lines"] ?? {}) as Schema;
    const returns = `AsyncIterable<${nameShape(line, "Line")}>`;
    return { parameters, returns, call: `call.lines(${place}, ${queryOf(parts)}, options)`, uses };
  }
  if (answer !== undefined && answer.type !== "application/json") {
    return { parameters, returns: "Promise<string>", call: `call.text(${place}, ${queryOf(parts)}, options)`, uses };
  }
  if (page?.["data"] !== undefined && page["next_cursor"] !== undefined && answer !== undefined) {
    const item = nameShape(page["data"]["items"] as Schema, "Item");
    const whole = Object.keys(page).length === 2 ? "" : `, ${nameShape(answer.schema, "Page")}`;
    return {
      parameters,
      returns: `Pages<${item}${whole}>`,
      call: `call.pages(${place}, ${queryOf(parts)}, options)`,
      uses,
    };
  }
  const unnamed = answers.filter(({ schema }) => schema["$ref"] === undefined);
  const results = answers.map((one) => {
    const place = unnamed.indexOf(one);
    return nameShape(one.schema, place > 0 ? `Answer${place + 1}` : "Answer");
  });
  const given = parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
  return {
    parameters,
    returns: `Promise<${[...new Set(results)].join(" | ") || "void"}>`,
    call: `call.json("${verb}", ${place}, ${given}, options)`,
    uses,
  };
}

/** Skips an object without members. */
function isEmpty(schema: Schema): boolean {
  return renderType(schema) === "Record<string, never>";
}

const queryOf = (parts: readonly string[]) => (parts.includes("query") ? "query" : "undefined");

function isKeyed({ headers, group }: Method): boolean {
  return headers.has("Idempotency-Key") && group !== "webhooks";
}

function optionsOf(method: Method, isRaw: boolean): string {
  const kinds = [
    ...(method.headers.has("If-Match") ? ["ChangeOptions"] : []),
    ...(isKeyed(method) ? ["CreateOptions"] : []),
    ...(isRaw ? ["UploadOptions"] : []),
  ];
  return kinds.join(" & ") || "RequestOptions";
}

function toQuerySchema({ query, summary }: Method, required: readonly string[]): Schema {
  const properties = Object.fromEntries(
    query.map(({ name, schema, description }) => [
      name,
      { ...schema, ...(description !== undefined && { description }) },
    ]),
  );
  return {
    type: "object",
    properties,
    required,
    additionalProperties: false,
    description: `${summary}: what to ask for`,
  };
}

const RESERVED = new Set(["path", "body", "query", "options", "call"]);

function toParameterName(name: string): string {
  return RESERVED.has(name) ? `${name}Name` : name;
}

function writePath(path: string): string {
  const tail = path.includes("{path}") ? ` + "/" + pathBelow(${toParameterName("path")})` : "";
  const text = path
    .replace("/{path}", "")
    .replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => `\${${toParameterName(name)}}`);
  return `path\`${text}\`${tail}`;
}

interface Signed {
  method: Method;
  signature: Signature;
}

function renderResources(signed: readonly Signed[]): string {
  const groups = [...new Set(signed.map(({ method }) => method.group))].sort();
  const of = (group: string) => signed.filter(({ method }) => method.group === group);
  const shapes = [...new Set(signed.flatMap(({ signature }) => [...signature.uses]))].sort();
  const interfaces = groups.map((group) => renderInterface(group, of(group)));
  const members = groups.map((group) => `    ${group}: {\n${of(group).map(renderImplementation).join("")}    },\n`);
  return `import type { Payload } from "../bytes.ts";
import type { Call } from "../client/call.ts";
import type { ChangeOptions, CreateOptions, RequestOptions, UploadOptions } from "../client/options.ts";
import type { Pages } from "../client/pages.ts";
import { path, pathBelow } from "../client/path.ts";
import type {
${shapes.map((name) => `  ${name},\n`).join("")}} from "./shapes.ts";

/** The gateway's API: a group for each resource, a method for each operation. */
export interface Resources {
${groups.map((group) => `  ${group}: ${toPascal(group)}Resource;\n`).join("")}}

${interfaces.join("\n")}
export function createResources(call: Call): Resources {
  return {
${members.join("")}  };
}
`;
}

function renderInterface(group: string, signed: readonly Signed[]): string {
  const methods = signed.map(({ method, signature: { parameters, returns } }) => {
    const { summary, description } = method;
    const comment = renderComment(description === "" ? summary : `${summary}. ${description}`, "  ");
    return `${comment}  ${method.name}(${parameters.join(", ")}): ${returns};\n`;
  });
  return `export interface ${toPascal(group)}Resource {\n${methods.join("")}}\n`;
}

function renderImplementation({ method, signature: { parameters, call } }: Signed): string {
  const names = parameters.map((parameter) => parameter.slice(0, parameter.search(/\??:/)));
  return `      ${method.name}: (${names.join(", ")}) => ${call},\n`;
}
