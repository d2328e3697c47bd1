import { createHash, createPrivateKey, randomBytes, sign as signBytes } from "node:crypto";
import { fillTemplate } from "./hmac.ts";
import { decodeSigned } from "./hubspot.ts";
import * as documents from "./sample-list.ts";
import { createMac } from "./signatures.ts";
import { signedFields } from "./twilio.ts";

/** Sample requests of a provider for testing a source: their content, and how they are signed. */
export interface Sample extends SampleDocument {
  sign?: Sign | undefined;
}

/** The JSON beside the provider. Texts of it in braces stand for facts of the request, see `toFacts`. */
export interface SampleDocument {
  /** The kind of source that they are for. */
  readonly kind: string;
  /** True when a request without a secret would be pointless. */
  readonly needsSecret: boolean;
  /** The key that signs, if it is not the secret of the source. */
  readonly keyHint?: string | undefined;
  /** Why only the provider itself can sign, and what to do instead. */
  readonly unsignable?: string | undefined;
  /** By the provider's name for them. */
  readonly events: Readonly<Record<string, SampleEvent>>;
}

interface SampleEvent {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The fields of a form, in place of a body. */
  readonly form?: Readonly<Record<string, string>>;
}

interface UnsignedSample {
  /** The URL that the sender uses: some schemes sign it. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Unix milliseconds. */
  at: number;
  /** Different for each request; most providers send the same id again when they retry. */
  id: string;
}

interface SampleKey {
  secret: string;
  /** The options of the source. */
  options: Readonly<Record<string, unknown>>;
}

/** The parts of a request that signing adds or replaces. */
export interface Signed {
  headers?: Readonly<Record<string, string>>;
  query?: string;
  body?: Buffer;
}

type Sign = (request: UnsignedSample, key: SampleKey) => Signed;

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

/** The headers and the body of an event, as the provider would send them. */
export function fillSample(
  { headers, body, form }: SampleEvent,
  at: number,
  id: string,
): { headers: Record<string, string>; body: Buffer } {
  const facts = toFacts(at, id);
  const type = form === undefined ? JSON_TYPE : FORM_TYPE;
  const text = form === undefined ? JSON.stringify(fill(body, facts)) : new URLSearchParams(form).toString();
  const filled = fill(headers ?? {}, facts) as Record<string, string>;
  return { headers: { "content-type": type, ...filled }, body: Buffer.from(text) };
}

function toFacts(at: number, id: string): Readonly<Record<string, string | number>> {
  const hex = id.replaceAll("-", "");
  return {
    id,
    id_24: hex.slice(0, 24),
    ID_10: hex.slice(0, 10).toUpperCase(),
    time: new Date(at).toISOString(),
    time_s: wholeSeconds(at),
    unix_ms: at,
    unix_s: Math.floor(at / 1000),
    unix_fraction: at / 1000,
  };
}

function fill(value: unknown, facts: Readonly<Record<string, string | number>>): unknown {
  if (typeof value === "string") {
    const [, alone = ""] = /^\{(\w+)\}$/.exec(value) ?? [];
    return facts[alone] ?? value.replace(/\{(\w+)\}/g, (whole, name: string) => String(facts[name] ?? whole));
  }
  if (Array.isArray(value)) return value.map((one) => fill(one, facts));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, facts)]));
}

function hmacOf(key: string | Buffer, parts: readonly (string | Buffer)[], encoding: "hex" | "base64"): string {
  return createMac("sha256", key, parts).digest(encoding);
}

function unixSeconds(at: number): string {
  return String(Math.floor(at / 1000));
}

/** RFC 3339, without milliseconds. */
function wholeSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Replaces top-level members of JSON; a value that is not an object stays unchanged. */
function withMembers(body: Buffer, change: (document: Record<string, unknown>) => object): Buffer {
  const document = JSON.parse(body.toString("utf8")) as unknown;
  if (typeof document !== "object" || document === null || Array.isArray(document)) return body;
  return Buffer.from(JSON.stringify(change(document as Record<string, unknown>)));
}

/** In a header, the HMAC of the body. */
export function bodyHmac(header: string, encoding: "hex" | "base64", prefix = ""): Sign {
  return ({ body }, { secret }) => ({ headers: { [header]: prefix + hmacOf(secret, [body], encoding) } });
}

/** As `v0=…`, the HMAC of `v0`, the time and the body. */
function v0Hmac(headers: { time: string; signature: string }): Sign {
  return ({ at, body }, { secret }) => {
    const time = unixSeconds(at);
    const signature = hmacOf(secret, [`v0:${time}:`, body], "hex");
    return { headers: { [headers.time]: time, [headers.signature]: `v0=${signature}` } };
  };
}

/** With a private key, the time and the body. */
function keySignature(
  algorithm: string | null,
  headers: { time: string; signature: string },
  encoding: BufferEncoding,
) {
  return ({ at, body }: UnsignedSample, { secret }: SampleKey): Signed => {
    const time = unixSeconds(at);
    const signature = signBytes(algorithm, Buffer.concat([Buffer.from(time), body]), createPrivateKey(secret));
    return { headers: { [headers.time]: time, [headers.signature]: signature.toString(encoding) } };
  };
}

/** https://www.standardwebhooks.com: the key are the bytes behind the prefix. */
function signStandard({ at, id, body }: UnsignedSample, { secret }: SampleKey): Signed {
  const time = unixSeconds(at);
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = hmacOf(key, [`${id}.${time}.`, body], "base64");
  return { headers: { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": `v1,${signature}` } };
}

const SIGNERS: Readonly<Record<string, Sign>> = {
  "api-key": (_request, { secret, options }) => ({
    headers: { [String(options["header"] ?? "x-api-key").toLowerCase()]: secret },
  }),
  basic: (_request, { secret }) => ({
    headers: { authorization: `Basic ${Buffer.from(secret, "utf8").toString("base64")}` },
  }),
  cloudevents: (_request, { secret }) => ({ headers: { authorization: `Bearer ${secret}` } }),
  discord: keySignature(null, { time: "x-signature-timestamp", signature: "x-signature-ed25519" }, "hex"),
  dropbox: bodyHmac("x-dropbox-signature", "hex"),
  "event-grid": (_request, { secret }) => ({ query: `code=${encodeURIComponent(secret)}` }),
  github: bodyHmac("x-hub-signature-256", "hex", "sha256="),
  /** A secret token is sent as it is; a signing token signs. */
  gitlab: (request, key) =>
    key.secret.startsWith("whsec_") ? signStandard(request, key) : { headers: { "x-gitlab-token": key.secret } },
  hmac: signAsOptionsSay,
  hubspot({ url, body, at }, { secret }) {
    const parts = ["POST", decodeSigned(url), body, String(at)];
    return {
      headers: {
        "x-hubspot-signature-v3": hmacOf(secret, parts, "base64"),
        "x-hubspot-request-timestamp": String(at),
      },
    };
  },
  linear: bodyHmac("linear-signature", "hex"),
  /** The signature stands in the body, and does not cover it. */
  mailgun({ at, body }, { secret }) {
    const timestamp = unixSeconds(at);
    const token = randomBytes(25).toString("hex");
    const signature = hmacOf(secret, [timestamp, token], "hex");
    return { body: withMembers(body, (document) => ({ signature: { timestamp, token, signature }, ...document })) };
  },
  meta: bodyHmac("x-hub-signature-256", "hex", "sha256="),
  /** The secret stands in the body, once for each notification. */
  "microsoft-graph": ({ body }, { secret }) => ({
    body: withMembers(body, ({ value, ...document }) => ({
      ...document,
      value: Array.isArray(value) ? value.map((one: object) => ({ ...one, clientState: secret })) : value,
    })),
  }),
  sendgrid: keySignature(
    "sha256",
    { time: "x-twilio-email-event-webhook-timestamp", signature: "x-twilio-email-event-webhook-signature" },
    "base64",
  ),
  shopify: bodyHmac("x-shopify-hmac-sha256", "base64"),
  slack: v0Hmac({ time: "x-slack-request-timestamp", signature: "x-slack-signature" }),
  square: ({ url, body }, { secret }) => ({
    headers: { "x-square-hmacsha256-signature": hmacOf(secret, [url, body], "base64") },
  }),
  "standard-webhooks": signStandard,
  stripe({ at, body }, { secret }) {
    const time = unixSeconds(at);
    return { headers: { "stripe-signature": `t=${time},v1=${hmacOf(secret, [`${time}.`, body], "hex")}` } };
  },
  /** What is no form is covered by its hash in the URL. */
  twilio({ url, headers, body }, { secret }) {
    const isForm = headers["content-type"]?.startsWith(FORM_TYPE) === true;
    const query = isForm ? "" : `bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
    const end = isForm ? signedFields(new URLSearchParams(body.toString("utf8"))) : query;
    const mark = isForm ? "" : url.includes("?") ? "&" : "?";
    const signature = createMac("sha1", secret, [url, mark, end]).digest("base64");
    return { ...(!isForm && { query }), headers: { "x-twilio-signature": signature } };
  },
  zendesk({ at, body }, { secret }) {
    const time = wholeSeconds(at);
    return {
      headers: {
        "x-zendesk-webhook-signature-timestamp": time,
        "x-zendesk-webhook-signature": hmacOf(secret, [time, body], "base64"),
      },
    };
  },
  zoom: v0Hmac({ time: "x-zm-request-timestamp", signature: "x-zm-signature" }),
};

/** For the kind `hmac`. */
function signAsOptionsSay(request: UnsignedSample, key: SampleKey): Signed {
  const text = (name: string, usual: string) => String(key.options[name] ?? usual);
  const template = text("signed", "{body}");
  const time = { [text("timestamp_header", "x-webhook-timestamp").toLowerCase()]: unixSeconds(request.at) };
  const named = { ...missingHeaders(template, request), ...(template.includes("{timestamp}") && time) };
  const headers = { ...request.headers, ...named };
  const { pathname: path, search } = new URL(request.url);
  const sent = { ...request, method: "POST", path, query: search.slice(1), headers, receivedAt: request.at };
  const parts = fillTemplate(template, sent, { source: "", secrets: [key.secret], options: key.options });
  const encoding = text("encoding", "hex") as "hex" | "base64" | "base64url";
  const signature = createMac(text("algorithm", "sha256"), readKey(key), parts).digest(encoding);
  return { headers: { ...named, [text("header", "").toLowerCase()]: text("prefix", "") + signature } };
}

/** Headers that are signed and that only this sender can choose. */
function missingHeaders(template: string, { headers, id }: UnsignedSample): Record<string, string> {
  const names = [...template.matchAll(/\{header:([A-Za-z0-9-]{1,64})\}/g)].map(([, name = ""]) => name.toLowerCase());
  return Object.fromEntries(names.filter((name) => headers[name] === undefined).map((name) => [name, id]));
}

function readKey({ secret, options }: SampleKey): Buffer {
  const encoding = options["secret_encoding"];
  return Buffer.from(secret, encoding === "hex" || encoding === "base64" ? encoding : "utf8");
}

/** Kinds for any sender of JSON. */
const { events } = documents.generic;
const ANY_SENDER: readonly SampleDocument[] = [
  { kind: "api-key", needsSecret: true, events },
  { kind: "basic", needsSecret: true, events },
  { kind: "hmac", needsSecret: true, events },
  { kind: "none", needsSecret: false, events },
];

/** A sample for each kind of source that requests come to, without those of plugins. */
export const SAMPLES: readonly Sample[] = [...Object.values<SampleDocument>(documents), ...ANY_SENDER].map(
  (document) => ({ ...document, sign: SIGNERS[document.kind] }),
);
