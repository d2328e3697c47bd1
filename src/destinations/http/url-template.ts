import { parseUrl } from "../../model/addresses.ts";
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
