import type { Emitter } from "liquidjs";
import { parseUrl } from "../../model/addresses.ts";
import { writeExactJson, ExactNumber } from "./template-scope.ts";
import { TEMPLATE_LIMITS, type TemplatePlace } from "./templates.ts";

/** Why a template cannot be rendered; the message is for users. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
  /** True when it fails with any facts. */
  readonly isCertain: boolean;
  constructor(message: string, isCertain = false) {
    super(message);
    this.isCertain = isCertain;
  }
}

/** A value that is written into a text; everything else is the template's own text. */
export class OutputValue {
  readonly value: unknown;
  /** Written as JSON, whatever the place. */
  readonly isJson: boolean;
  constructor(value: unknown, isJson = false) {
    this.value = value;
    this.isJson = isJson;
  }
  /** Unescaped: a captured text is a value like others. */
  toString(): string {
    return this.isJson ? writeExactJson(this.value) : toText(this.value);
  }
}

/** Collects the output, up to a limit, and escapes values for the place. */
export interface PlaceWriter extends Emitter {
  /** Throws when the output is invalid for its place. */
  finish(): string;
}

export function createPlaceWriter(place: TemplatePlace): PlaceWriter {
  return WRITERS[place]();
}

const WRITERS: Readonly<Record<TemplatePlace, () => PlaceWriter>> = {
  text: () => createWriter(String),
  html: () => createWriter((output) => escapeHtml(output.toString())),
  header: () => createWriter(String, rejectControls),
  url: () => createWriter((output, before) => encodePart(output.toString(), before), rejectNoUrl),
  json: createJsonWriter,
};

function createWriter(
  escape: (output: OutputValue, before: string) => string,
  check: (text: string) => void = () => undefined,
): PlaceWriter {
  let buffer = "";
  return {
    get buffer() {
      return buffer;
    },
    write(written: unknown) {
      buffer += written instanceof OutputValue ? escape(written, buffer) : String(written);
      rejectTooLong(buffer);
    },
    finish() {
      if (Buffer.byteLength(buffer) > TEMPLATE_LIMITS.maxOutputBytes) throw tooLong();
      check(buffer);
      return buffer;
    },
  };
}

/** Inside a string of the template, a value becomes part of that string; elsewhere it becomes a whole JSON value. */
function createJsonWriter(): PlaceWriter {
  let isInString = false;
  let isEscaped = false;

  function follow(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (isEscaped) isEscaped = false;
      else if (code === BACKSLASH) isEscaped = isInString;
      else if (code === QUOTE) isInString = !isInString;
    }
  }

  const writer = createWriter((output) => {
    if (!isInString) return writeExactJson(output.value);
    return JSON.stringify(output.toString()).slice(1, -1);
  }, rejectNoJson);
  const { write } = writer;
  writer.write = (written: unknown) => {
    if (!(written instanceof OutputValue)) follow(String(written));
    write(written);
  };
  return writer;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Characters are counted during rendering, bytes at the end. */
function rejectTooLong(text: string): void {
  if (text.length > TEMPLATE_LIMITS.maxOutputBytes) throw tooLong();
}

function tooLong(): TemplateFault {
  return new TemplateFault(`produces more than ${TEMPLATE_LIMITS.maxOutputBytes / 1024} KB`, true);
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  if (value instanceof ExactNumber) return value.text;
  return typeof value === "object" ? writeExactJson(value) : String(value);
}

const HTML_SIGNS: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => HTML_SIGNS[sign] as string);
}

const CONTROL = /[\p{Cc}\p{Cs}]/u;

function rejectControls(text: string): void {
  const [sign] = CONTROL.exec(text) ?? [];
  if (sign === undefined) return;
  const code = sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  throw new TemplateFault(`produces a header with a control character (U+${code}), such as a line break`);
}

/** Scheme, host and port are complete. */
const BEHIND_HOST = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#\\]+[/?#]/;
const LONE_SURROGATE = /\p{Cs}/gu;

function encodePart(text: string, before: string): string {
  if (!BEHIND_HOST.test(before)) {
    throw new TemplateFault(
      "has a value in the scheme, host or port; values may only be in the path and the query",
      true,
    );
  }
  const encoded = encodeURIComponent(text.replace(LONE_SURROGATE, "\ufffd"));
  // In a path two dots lead upwards, even when they are encoded, so the percent sign is encoded as well.
  return /^\.{1,2}$/.test(encoded) && !/[?#]/.test(before) ? encoded.replaceAll(".", "%252E") : encoded;
}

function rejectNoUrl(text: string): void {
  if (parseUrl(text) === undefined || !BEHIND_HOST.test(`${text}/`)) {
    throw new TemplateFault(`produces ${JSON.stringify(text.slice(0, 200))}, which is not a URL`);
  }
}

function rejectNoJson(text: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new TemplateFault(`does not produce JSON: ${(error as Error).message}`);
  }
}
