import { createHash } from "node:crypto";
import { escape, escapeAttribute, renderFields, renderMember, renderText, renderType } from "./page-schema.ts";
import { PAGE_STYLE } from "./page-style.ts";
import type { Json } from "./shapes.ts";

/** The document as a page for people: plain HTML that loads nothing from other sites. */

export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(PAGE_STYLE).digest("base64")}'`,
  "script-src 'self'",
  // So that the page can send requests.
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const MAX_LINE = 80;

interface Operation {
  path: string;
  method: string;
  operationId: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  parameters?: readonly Parameter[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
  "x-scope"?: string;
  "x-operator-only"?: boolean;
}

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  description?: string;
  required?: boolean;
  schema: Json;
  example?: unknown;
}

interface Media {
  schema?: Json;
  example?: unknown;
}

interface Document {
  info: { version: string; description: string };
  tags: readonly { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
}

export function renderPage(json: Json): string {
  const { info, tags, paths, webhooks, components } = json as unknown as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method })),
  );
  const received = Object.entries(webhooks).map(([name, { post }]) => ({ ...post, path: name, method: "post" }));
  const groups = [
    ...tags.map(({ name, description }) => ({
      name,
      description,
      operations: operations.filter((one) => (one.tags?.[0] ?? "") === name),
    })),
    { name: "Other", description: "", operations: operations.filter(({ tags: of }) => of === undefined) },
    { name: "What a destination receives", description: "", operations: received as Operation[] },
  ].filter((group) => group.operations.length > 0);
  const examples = collectExamples(operations);
  const names = Object.keys(components.schemas).sort();
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Posthorn API</title>
<style>${PAGE_STYLE}</style>
<script src="/docs/page.js" defer></script>
</head><body>
<a class="skip" href="#main">Skip to the reference</a>
<nav aria-label="Reference">
<div class="find"><input id="search" type="search" placeholder="Search routes and fields" aria-label="Search routes and fields" autocomplete="off" spellcheck="false">
<button id="menu" type="button" aria-expanded="false" aria-controls="contents">Contents</button></div>
<p id="found" role="status"></p>
<div id="contents">${groups.map(renderNavigation).join("")}<h2><a href="#schemas">Schemas</a></h2></div>
</nav>
<main id="main" tabindex="-1">
<div id="intro">
<h1>Posthorn API <small>${escape(info.version)}</small></h1>
${info.description
  .split("\n\n")
  .map((text) => `<p>${renderText(text)}</p>`)
  .join("\n")}
<p>Requests that only read can be tried out on this page. The same for programs: <a href="/openapi.json">openapi.json</a>. To run the examples:</p>
<div class="curl"><pre class="copy">export POSTHORN_URL=<span class="origin">http://127.0.0.1:8080</span>
export POSTHORN_API_KEY=phk_…</pre></div>
</div>
${groups.map(renderGroup).join("\n")}
<section id="schemas" data-group><h2>Schemas</h2>
${names.map((name) => renderSchema(name, components.schemas, examples.get(name))).join("\n")}
</section>
</main></body></html>
`;
}

/** The first example of each shape that has a name. */
function collectExamples(operations: readonly Operation[]): ReadonlyMap<string, unknown> {
  const examples = new Map<string, unknown>();
  for (const { responses } of operations) {
    for (const { schema, example } of Object.values(responses).flatMap(({ content }) => Object.values(content ?? {}))) {
      const name = String(schema?.["$ref"] ?? "").slice("#/components/schemas/".length);
      if (name !== "" && example !== undefined && !examples.has(name)) examples.set(name, example);
    }
  }
  return examples;
}

function renderSchema(name: string, schemas: Readonly<Record<string, Json>>, example: unknown): string {
  const shown = example === undefined ? "" : `<pre>${escape(JSON.stringify(example, null, 1))}</pre>`;
  const fields = renderFields(schemas[name] ?? {}, schemas);
  return `<details id="schema-${name}"><summary><code>${name}</code></summary>${fields}${shown}</details>`;
}

interface Group {
  name: string;
  description: string;
  operations: readonly Operation[];
}

function renderNavigation({ name, operations }: Group): string {
  const links = operations.map(
    (one) => `<li><a href="#${one.operationId}">${renderMethod(one)}${escape(one.summary ?? one.path)}</a></li>`,
  );
  return `<div data-group><h2>${escape(name)}</h2><ul>${links.join("")}</ul></div>`;
}

function renderGroup({ name, description, operations }: Group): string {
  const intro = description === "" ? "" : `<p class="dim">${renderText(description)}.</p>`;
  return `<section data-group><h2>${escape(name)}</h2>${intro}${operations.map(renderOperation).join("\n")}</section>`;
}

function renderMethod({ method }: Operation): string {
  return `<span class="m ${method}">${method.toUpperCase()}</span>`;
}

/** Routes that the page can send: those that change nothing and do not answer with a page. */
function isTriable({ method, path, responses }: Operation): boolean {
  const types = Object.keys(responses["200"]?.content ?? {});
  return method === "get" && path.startsWith("/") && types.some((type) => !/html|javascript/.test(type));
}

function renderOperation(operation: Operation): string {
  const { operationId, path, summary, description, parameters = [], requestBody } = operation;
  const isReceived = !path.startsWith("/");
  return `<article id="${operationId}"${isTriable(operation) ? ` data-try="${escapeAttribute(path)}"` : ""}>
<h3><a href="#${operationId}">${escape(summary ?? path)}</a></h3>
<p class="route">${renderMethod(operation)}<code>${isReceived ? "to your URL" : escape(path)}</code>${renderScope(operation, isReceived)}</p>
${description === undefined || description === "" ? "" : `<p>${renderText(description)}</p>`}
${parameters.length === 0 ? "" : `<h4>${isReceived ? "Headers" : "Parameters"}</h4><dl>${parameters.map(renderParameter).join("")}</dl>`}
${requestBody === undefined ? "" : renderBody(requestBody, isReceived)}
${isReceived ? "" : `<h4>Example</h4><div class="curl"><pre class="copy">${escape(toCurl(operation))}</pre></div>`}
<h4>Answers</h4>${renderAnswers(operation)}
</article>`;
}

function renderScope(operation: Operation, isReceived: boolean): string {
  const scope = operation["x-scope"];
  if (isReceived) return "";
  if (scope === undefined) return '<span class="tag">open</span>';
  return `<span class="tag">${scope}</span>${operation["x-operator-only"] === true ? '<span class="tag">unbound keys</span>' : ""}`;
}

function renderParameter({ name, in: place, description = "", required, schema }: Parameter): string {
  const facts = [place, required === true ? "required" : ""].filter(Boolean).join(", ");
  return `<dt><code>${escape(name)}</code> <i>${facts}</i></dt><dd>${renderMember({ ...schema, description })}</dd>`;
}

/** Shows the parts that the curl command does not show. */
function renderBody({ required, content }: NonNullable<Operation["requestBody"]>, isReceived: boolean): string {
  const parts = Object.entries(content).map(([type, { schema = {}, example }]) => {
    const title = type === "application/json" ? "" : `<p><code>${escape(type)}</code></p>`;
    const isShown = (isReceived || Object.keys(content).length > 1) && example !== undefined;
    const shown = isShown ? renderExample("Example", example) : "";
    return title + renderFields(schema) + shown;
  });
  return `<h4>Body${required ? "" : " (optional)"}</h4><div class="body">${parts.join("")}</div>`;
}

/** Named shapes are shown once, with their example; errors are shown by their codes only. */
function renderAnswers({ responses }: Operation): string {
  const errors: string[] = [];
  const answers = Object.entries(responses).map(([status, { description, content = {} }]) => {
    if ("application/problem+json" in content) {
      const codes = description.match(/`[a-z_]+`/g);
      if (codes !== null) errors.push(`${status} ${renderText(codes.join(" "))}`);
      return "";
    }
    const [media] = Object.values(content);
    const type = media?.schema === undefined ? "" : renderType(media.schema);
    const title = `<b>${escape(status)}</b> ${renderText(description)} <i class="dim">${type}</i>`;
    const isShownThere = type.includes("<a ") || media?.example === undefined;
    return isShownThere ? `<div>${title}</div>` : renderExample(title, media.example);
  });
  return answers.join("") + (errors.length === 0 ? "" : `<div class="dim">Errors: ${errors.join(", ")}</div>`);
}

function renderExample(title: string, example: unknown): string {
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 1);
  return `<details><summary>${title}</summary><pre>${escape(text)}</pre></details>`;
}

function toCurl({ method, path, parameters = [], requestBody, ...operation }: Operation): string {
  const filled = parameters
    .filter((one) => one.in === "path")
    .reduce((url, { name, example }) => url.replace(`{${name}}`, encodeURIComponent(String(example ?? name))), path);
  const query = parameters
    .filter((one) => one.in === "query" && one.example !== undefined)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
  const body = requestBody?.content["application/json"]?.example;
  return [
    `curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}"$POSTHORN_URL${filled}${query.length > 0 ? `?${query.join("&")}` : ""}"`,
    ...(operation["x-scope"] === undefined ? [] : ['-H "Authorization: Bearer $POSTHORN_API_KEY"']),
    ...(body === undefined ? [] : [`--json '${writeBody(body).replaceAll("'", "'\\''")}'`]),
  ].join(" \\\n  ");
}

function writeBody(body: unknown): string {
  const line = JSON.stringify(body);
  return line.length <= MAX_LINE ? line : JSON.stringify(body, null, 1);
}
