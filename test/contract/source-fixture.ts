import type { IncomingHttpHeaders } from "node:http";
import { fillSample, SAMPLES, type Sample } from "../../src/sources/sample.ts";
import type { ArrivedRequest, KindAnswer, KindSettings, PushedSourceKind } from "../../src/sources/source-kind.ts";

/** How a provider signs, so that one suite can hold every kind of source to the same promises. */
export interface SourceFixture {
  readonly kind: PushedSourceKind;
  readonly settings: KindSettings;
  /** A fresh signed request at this wall time. */
  sign(at: number, body?: Buffer): ArrivedRequest;
  readonly expected: { readonly type: string; readonly identity: string | undefined };
  readonly toleranceMs?: number;
  readonly handshakes?: readonly { readonly request: ArrivedRequest; readonly answer: KindAnswer }[];
  /** False where the scheme does not cover the body. */
  readonly coversBody: boolean;
  /** Headers that nothing may be missing from, or be added to. */
  readonly signatureHeaders?: readonly string[];
  /** What must be refused as well. */
  readonly forgeries?: readonly Forgery[];
}

export interface Forgery {
  readonly name: string;
  request(at: number): ArrivedRequest;
}

/** When the handshakes of fixtures are made, and everything else in the suite. */
export const SIGNED_AT = Date.UTC(2026, 5, 15, 12);

interface Parts {
  at: number;
  headers: IncomingHttpHeaders;
  body?: Buffer;
  method?: string;
  query?: string;
}

export function arrive(source: string, { at, headers, body, method = "POST", query = "" }: Parts): ArrivedRequest {
  const path = `/webhook/${source}`;
  const url = `https://hooks.example.com${path}${query === "" ? "" : `?${query}`}`;
  return { method, path, query, headers, body: body ?? Buffer.alloc(0), receivedAt: at, url };
}

export function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function settingsOf(
  source: string,
  secrets: readonly string[],
  options: Readonly<Record<string, unknown>> = {},
): KindSettings {
  return { source, secrets, options };
}

function sampleOf({ name }: Pick<PushedSourceKind, "name">): Sample {
  const sample = SAMPLES.find(({ kind }) => kind === name);
  if (sample === undefined) throw new Error(`${name} has no sample`);
  return sample;
}

/** The id of what `exampleOf` makes. */
export const EXAMPLE_ID = "72d3162e-cc78-11e3-81ab-4c9367dc0958";

/** An event of the provider as `posthorn trigger` sends it. */
export function exampleOf(kind: PushedSourceKind, event: string): ReturnType<typeof fillSample> {
  const found = sampleOf(kind).events[event];
  if (found === undefined) throw new Error(`${kind.name} has no sample of ${event}`);
  return fillSample(found, SIGNED_AT, EXAMPLE_ID);
}

/** What the sample of a provider adds to a request when it signs it. */
function signAs(
  kind: PushedSourceKind,
  { url, headers, body, receivedAt: at }: ArrivedRequest,
  secret: string,
  options: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, string>> {
  const given = headers as Readonly<Record<string, string>>;
  return sampleOf(kind).sign?.({ url, headers: given, body, at, id: "sample-1" }, { secret, options }).headers ?? {};
}

/** As `arrive`, signed as the sample of the provider says. */
export function arriveSigned(
  kind: PushedSourceKind,
  source: string,
  secret: string,
  parts: Parts,
  options?: Readonly<Record<string, unknown>>,
): ArrivedRequest {
  const request = arrive(source, parts);
  return { ...request, headers: { ...request.headers, ...signAs(kind, request, secret, options) } };
}

/** Of a request whose signature stands in its body. */
export function withBody(request: ArrivedRequest, body: Buffer): ArrivedRequest {
  return { ...request, body };
}

export const JSON_TYPE = { "content-type": "application/json" };
