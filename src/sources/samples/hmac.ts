import { generic } from "./generic.ts";
import { hmacOf, unixSeconds, type Sample, type SampleKey, type UnsignedSample } from "./sample.ts";

const PLACEHOLDER = /\{(body|timestamp|method|url|path|query|header:[A-Za-z0-9-]{1,64})\}/;

/** As the options of the source say. */
export const hmac: Sample = {
  kind: "hmac",
  needsSecret: true,
  events: generic.events,
  sign(request, key) {
    const text = (name: string, usual: string) => String(key.options[name] ?? usual);
    const template = text("signed", "{body}");
    const time = { [text("timestamp_header", "x-webhook-timestamp").toLowerCase()]: unixSeconds(request.at) };
    const named = { ...missingHeaders(template, request), ...(template.includes("{timestamp}") && time) };
    const headers = { ...request.headers, ...named };
    const parts = template
      .split(PLACEHOLDER)
      .map((part, at) => (at % 2 === 0 ? part : fill(part, { ...request, headers }, Object.values(time)[0] ?? "")));
    const encoding = text("encoding", "hex") as "hex" | "base64" | "base64url";
    const signature = hmacOf(text("algorithm", "sha256"), readKey(key), parts, encoding);
    return { headers: { ...named, [text("header", "").toLowerCase()]: text("prefix", "") + signature } };
  },
};

/** Headers that are signed and that only this sender can choose. */
function missingHeaders(template: string, { headers, id }: UnsignedSample): Record<string, string> {
  const names = [...template.matchAll(/\{header:([A-Za-z0-9-]{1,64})\}/g)].map(([, name = ""]) => name.toLowerCase());
  return Object.fromEntries(names.filter((name) => headers[name] === undefined).map((name) => [name, id]));
}

function fill(placeholder: string, { url, headers, body }: UnsignedSample, time: string): string | Buffer {
  const { pathname, search } = new URL(url);
  switch (placeholder) {
    case "body":
      return body;
    case "timestamp":
      return time;
    case "method":
      return "POST";
    case "url":
      return url;
    case "path":
      return pathname;
    case "query":
      return search.slice(1);
    default:
      return headers[placeholder.slice("header:".length).toLowerCase()] ?? "";
  }
}

function readKey({ secret, options }: SampleKey): Buffer {
  const encoding = options["secret_encoding"];
  return Buffer.from(secret, encoding === "hex" || encoding === "base64" ? encoding : "utf8");
}
