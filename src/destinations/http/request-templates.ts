import { type Static, Type } from "typebox";
import { type HeaderBlock, headerLine, isFieldValue } from "../../model/headers.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { SharedSettings } from "../../model/subscription.ts";
import { parseUrl } from "../../model/addresses.ts";
import { TEMPLATE_LIMITS, type Template, type TemplatePlace } from "../../sandbox/templates/templates.ts";
import { findHeaderProblem } from "../outgoing-header.ts";
import { PRESETS, type PresetName } from "./presets.ts";

/** Templates for the parts of a request that do not come from the event unchanged. */

const templateText = (description: string, maxLength: number = TEMPLATE_LIMITS.maxLength) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }));

export const RequestTemplate = Type.Object(
  {
    body: templateText("The body; values are escaped for its `content_type`"),
    content_type: Type.Optional(
      Type.String({
        minLength: 3,
        maxLength: 200,
        description: "The content type of the body: JSON, HTML or another text. `application/json` by default",
        examples: ["application/json"],
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 4096 }), {
        maxProperties: 50,
        description: "Additional headers. They are shown to users: put secrets into `headers`",
      }),
    ),
    url: templateText("The whole URL, with the origin of `url`; values are allowed in its path and query", 4096),
  },
  {
    additionalProperties: false,
    description: "Liquid templates for the request; without one, the event itself is sent",
    examples: [{ body: '{"text":"Order {{ data.id }}"}' }],
  },
);
export type RequestTemplate = Static<typeof RequestTemplate>;

interface TemplatedSettings {
  url: string;
  format?: string | undefined;
  headers?: Readonly<Record<string, string>> | null | undefined;
  preset?: PresetName | null | undefined;
  template?: RequestTemplate | null | undefined;
}

const JSON_TYPE = "application/json";

export function templatesOf({ preset, template }: Pick<TemplatedSettings, "preset" | "template">): readonly Template[] {
  const { body, content_type: type = JSON_TYPE, headers = {}, url } = template ?? {};
  return [
    ...(preset ? [{ name: "preset", text: PRESETS[preset], place: "json" as const, isBuiltIn: true }] : []),
    ...(body === undefined ? [] : [{ name: "template.body", text: body, place: placeOf(type) }]),
    ...Object.entries(headers).map(([name, text]) => ({
      name: `template.headers.${name}`,
      text,
      place: "header" as const,
    })),
    ...(url === undefined ? [] : [{ name: "template.url", text: url, place: "url" as const }]),
  ];
}

function placeOf(contentType: string): TemplatePlace {
  if (/^[^;]*[/+]json\s*(;|$)/i.test(contentType)) return "json";
  return /^text\/html\b/i.test(contentType) ? "html" : "text";
}

/** All templates of a destination, and the parts of the request that they are for. */
export interface RequestTemplates {
  readonly list: readonly Template[];
  /** Returns the parts of the request, or a fault when HTTP or the destination cannot accept a text. */
  toParts(texts: readonly string[]): RequestParts | { fault: string };
}

export interface RequestParts {
  readonly body: Uint8Array | undefined;
  readonly contentType: string | undefined;
  readonly headers: HeaderBlock;
  readonly url: string | undefined;
}

/** Undefined when the event itself is sent. */
export function prepareTemplates(settings: TemplatedSettings): RequestTemplates | undefined {
  const { template } = settings;
  const list = templatesOf(settings);
  if (list.length === 0) return undefined;
  const hasBody = list.some(({ name }) => name === "template.body" || name === "preset");
  const contentType = hasBody ? (template?.content_type ?? JSON_TYPE) : undefined;
  const names = Object.keys(template?.headers ?? {});
  const origin = parseUrl(settings.url)?.origin;

  return {
    list,
    toParts(texts) {
      const left = [...texts];
      const body = hasBody ? Buffer.from(left.shift() ?? "", "utf8") : undefined;
      let headers: HeaderBlock = "";
      for (const name of names) {
        const value = left.shift() ?? "";
        const problem = findHeaderProblem(name, value);
        if (problem !== undefined)
          return { fault: `template.headers.${name} makes ${JSON.stringify(value)}: ${problem}` };
        if (value !== "") headers += headerLine(name, value);
      }
      const url = left.shift();
      if (url !== undefined && parseUrl(url)?.origin !== origin) {
        return { fault: `template.url gives ${url}, which is not at ${origin}` };
      }
      return { body, contentType, headers, url };
    },
  };
}

/** Rules beyond the schema. Whether the templates themselves are valid is checked elsewhere. */
export function checkTemplates(settings: TemplatedSettings, { mode }: SharedSettings): FieldProblem[] {
  const { template, preset, format = "auto" } = settings;
  if (!template && !preset) return [];
  const problems: FieldProblem[] = [];
  const field = template ? "template" : "preset";
  if (mode === "forward") problems.push({ field, message: "is not for `mode: forward`, which passes requests on" });
  if (preset && template?.body !== undefined) {
    problems.push({
      field: "template.body",
      message: `the preset ${preset} has a body of its own; give one of the two`,
    });
  }
  const hasBody = Boolean(preset) || template?.body !== undefined;
  if (hasBody && format !== "auto") {
    problems.push({ field: "format", message: "has no effect when the body comes from a template; leave it out" });
  }
  const type = template?.content_type;
  if (type !== undefined && (!isFieldValue(type) || !/^[\w.+-]+\/[\w.+-]+/.test(type))) {
    problems.push({ field: "template.content_type", message: "is not a content type such as application/json" });
  }
  if (type !== undefined && template?.body === undefined) {
    problems.push({ field: "template.content_type", message: "needs a `body` beside it" });
  }
  return [...problems, ...checkNames(settings)];
}

function checkNames({ template, headers }: TemplatedSettings): FieldProblem[] {
  const others = new Set(Object.keys(headers ?? {}).map((name) => name.toLowerCase()));
  return Object.keys(template?.headers ?? {}).flatMap((name) => {
    const key = name.toLowerCase();
    const message = findHeaderProblem(name, "") ?? (others.has(key) ? "is given twice" : undefined);
    others.add(key);
    return message === undefined ? [] : [{ field: `template.headers.${name}`, message }];
  });
}

/** A destination's URL may contain `{source}`, which stands for the source of the event that is sent. */

const SOURCE = "{source}";
const PLACEHOLDER = /\{[A-Za-z_]*\}/g;
const LONE_SURROGATE = /\p{Cs}/gu;
/** Any two different names: the parts of the URL that differ between them can be chosen by senders. */
const PROBES = ["a", "b"] as const;

export function isUrlTemplate(url: string): boolean {
  return url.includes(SOURCE);
}

export function expandUrl(template: string, source: string): string {
  return isUrlTemplate(template) ? template.replaceAll(SOURCE, () => encodeSource(source)) : template;
}

/** The problem with the placeholders of a URL; undefined when there is none. */
export function findTemplateProblem(url: string): string | undefined {
  const unknown = url.match(PLACEHOLDER)?.find((placeholder) => placeholder !== SOURCE);
  if (unknown !== undefined) return `contains ${unknown}; the only placeholder is ${SOURCE}`;
  if (!isUrlTemplate(url)) return undefined;
  const [one, other] = PROBES.map((name) => whereOf(expandUrl(url, name)));
  return one !== undefined && one === other
    ? undefined
    : `${SOURCE} is allowed in the path and the query, not in the scheme or the host`;
}

/** Encodes a source as one segment of a path: a published event's source may be any text. */
function encodeSource(source: string): string {
  const encoded = encodeURIComponent(source.replace(LONE_SURROGATE, "\ufffd"));
  // Two dots are a step upwards even when they are encoded, so the percent sign is encoded too.
  return /^\.{1,2}$/.test(encoded) ? encoded.replaceAll(".", "%252E") : encoded;
}

function whereOf(url: string): string | undefined {
  const parsed = parseUrl(url);
  return parsed && JSON.stringify([parsed.protocol, parsed.username, parsed.password, parsed.host]);
}
