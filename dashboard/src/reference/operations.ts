import { button, code, join, make, richText, type Content } from "./dom.ts";
import type { Group, Operation, Parameter } from "./openapi.ts";
import { showFields, showMember, showType } from "./schemas.ts";
import { offerToTry } from "./try-out.ts";

export function showNavigation({ name, operations }: Group): HTMLElement {
  const links = operations.map((one) =>
    make("li", {}, make("a", { href: `#${one.operationId}` }, showMethod(one), one.summary ?? one.path)),
  );
  return make("div", { "data-group": true }, make("h2", {}, name), make("ul", {}, ...links));
}

export function showGroup({ name, description, operations }: Group): HTMLElement {
  const intro = description === "" ? [] : [make("p", { class: "dim" }, ...richText(description), ".")];
  return make("section", { "data-group": true }, make("h2", {}, name), ...intro, ...operations.map(showOperation));
}

function showMethod({ method }: Operation): HTMLElement {
  return make("span", { class: `m ${method}` }, method.toUpperCase());
}

function showOperation(operation: Operation): HTMLElement {
  const { operationId, path, summary, description, parameters = [], requestBody } = operation;
  const isReceived = !path.startsWith("/");
  const command = isReceived ? undefined : showCommand(toCurl(operation));
  const article = make(
    "article",
    { id: operationId },
    make("h3", {}, make("a", { href: `#${operationId}` }, summary ?? path)),
    make(
      "p",
      { class: "route" },
      showMethod(operation),
      code(isReceived ? "to your URL" : path),
      ...showScope(operation),
    ),
    ...(description === undefined || description === "" ? [] : [make("p", {}, ...richText(description))]),
    ...(parameters.length === 0 ? [] : showParameters(parameters, isReceived)),
    ...(requestBody === undefined ? [] : showBody(requestBody, isReceived)),
    ...(command === undefined ? [] : [make("h4", {}, "Example"), command]),
    make("h4", {}, "Answers"),
    ...showAnswers(operation),
  );
  if (command !== undefined && isTriable(operation)) offerToTry(operation, command);
  return article;
}

/** Routes that the page can send: those that change nothing and do not answer with a page. */
function isTriable({ method, responses }: Operation): boolean {
  const types = Object.keys(responses["200"]?.content ?? {});
  return method === "get" && types.some((type) => !/html|javascript/.test(type));
}

function showScope({ path, "x-scope": scope, "x-operator-only": isForOperators }: Operation): HTMLElement[] {
  const tag = (text: string) => make("span", { class: "tag" }, text);
  if (!path.startsWith("/")) return [];
  if (scope === undefined) return [tag("open")];
  return isForOperators === true ? [tag(scope), tag("unbound keys")] : [tag(scope)];
}

function showParameters(parameters: readonly Parameter[], isReceived: boolean): HTMLElement[] {
  const rows = parameters.flatMap(({ name, in: place, description = "", required, schema }) => [
    make("dt", {}, code(name), " ", make("i", {}, required === true ? `${place}, required` : place)),
    make("dd", {}, ...showMember({ ...schema, description })),
  ]);
  return [make("h4", {}, isReceived ? "Headers" : "Parameters"), make("dl", {}, ...rows)];
}

/** Shows the parts that the curl command does not show. */
function showBody({ required, content }: NonNullable<Operation["requestBody"]>, isReceived: boolean): HTMLElement[] {
  const parts = Object.entries(content).flatMap(([type, { schema = {}, example }]) => {
    const title = type === "application/json" ? [] : [make("p", {}, code(type))];
    const isShown = (isReceived || Object.keys(content).length > 1) && example !== undefined;
    const fields = showFields(schema);
    for (const field of fields) offerFields(field);
    return [...title, ...fields, ...(isShown ? [showExample(["Example"], example)] : [])];
  });
  return [make("h4", {}, required ? "Body" : "Body (optional)"), make("div", { class: "body" }, ...parts)];
}

/** Beside each link to a shape a button that shows its fields here. */
function offerFields(root: HTMLElement): void {
  for (const link of root.querySelectorAll<HTMLAnchorElement>('a[href^="#schema-"]')) {
    let fields: HTMLElement | undefined;
    const show = button("Show fields", { class: "fields" }, () => {
      if (fields === undefined) {
        const parts = document.querySelectorAll(`${link.hash} > :not(summary, pre)`);
        fields = make("div", { class: "inline" }, ...[...parts].map((one) => one.cloneNode(true)));
        show.after(fields);
      } else {
        fields.hidden = !fields.hidden;
      }
      show.textContent = fields.hidden ? "Show fields" : "Hide fields";
    });
    link.after(" ", show);
  }
}

/** Named shapes are shown once, with their example; errors are shown by their codes only. */
function showAnswers({ responses }: Operation): HTMLElement[] {
  const errors: Content[][] = [];
  const answers = Object.entries(responses).flatMap(([status, { description, content = {} }]) => {
    if ("application/problem+json" in content) {
      const codes = description.match(/`[a-z_]+`/g);
      if (codes !== null) errors.push([`${status} `, ...richText(codes.join(" "))]);
      return [];
    }
    const [media] = Object.values(content);
    const type = media?.schema === undefined ? [] : showType(media.schema);
    const title = [make("b", {}, status), " ", ...richText(description), " ", make("i", { class: "dim" }, ...type)];
    const isShownThere = media?.example === undefined || type.some((part) => part instanceof HTMLAnchorElement);
    return [isShownThere ? make("div", {}, ...title) : showExample(title, media.example)];
  });
  return errors.length === 0 ? answers : [...answers, make("div", { class: "dim" }, "Errors: ", ...join(errors, ", "))];
}

function showExample(title: readonly Content[], example: unknown): HTMLElement {
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 1);
  return make("details", {}, make("summary", {}, ...title), make("pre", {}, text));
}

/** A command with a button that copies it. */
export function showCommand(text: string): HTMLElement {
  const control = button("Copy", { "aria-label": "Copy the command" }, () => {
    void copy(text).then(() => {
      control.textContent = "Copied";
      setTimeout(() => (control.textContent = "Copy"), 1500);
    });
  });
  return make("div", { class: "curl" }, make("div", { class: "bar" }, control), make("pre", { class: "copy" }, text));
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers give the clipboard to https and to this machine only.
    const area = make("textarea", {}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

const MAX_LINE = 80;

function toCurl({ method, path, parameters = [], requestBody, "x-scope": scope }: Operation): string {
  const filled = parameters
    .filter((one) => one.in === "path")
    .reduce((url, { name, example }) => url.replace(`{${name}}`, encodeURIComponent(String(example ?? name))), path);
  const query = parameters
    .filter((one) => one.in === "query" && one.example !== undefined)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
  const body = requestBody?.content["application/json"]?.example;
  const verb = method === "get" ? "" : `-X ${method.toUpperCase()} `;
  return [
    `curl ${verb}"$POSTHORN_URL${filled}${query.length > 0 ? `?${query.join("&")}` : ""}"`,
    ...(scope === undefined ? [] : ['-H "Authorization: Bearer $POSTHORN_API_KEY"']),
    ...(body === undefined ? [] : [`--json '${writeBody(body).replaceAll("'", String.raw`'\''`)}'`]),
  ].join(" \\\n  ");
}

function writeBody(body: unknown): string {
  const line = JSON.stringify(body);
  return line.length <= MAX_LINE ? line : JSON.stringify(body, null, 1);
}
