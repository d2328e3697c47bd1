import { randomUUID } from "node:crypto";
import { Drop } from "liquidjs";
import { parseQuery } from "../../model/addresses.ts";
import type { TemplateFacts } from "./templates.ts";

/** The facts of a delivery for a thread: texts, which are cheap to pass. */
export interface SentFacts extends Omit<TemplateFacts, "event"> {
  readonly event: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly isJson: boolean;
}

/** The names that a template may start with, and their known fields; undefined when any field is possible. */
export const FACT_FIELDS: Readonly<Record<string, readonly string[] | undefined>> = {
  event: ["id", "type", "version", "source", "tenant_id", "priority", "timestamp", "ordering_key"],
  data: undefined,
  headers: undefined,
  query: undefined,
  metadata: undefined,
  subscription: ["id", "name"],
  delivery: ["id", "attempt"],
};

/** Parses each part once, when a template first uses it. */
export function toScope(facts: SentFacts): object {
  const { event, subscription, delivery } = facts;
  const data = once(() => readData(facts));
  const request = once(() => readRequest(facts.request));
  const metadata = once(() => readMetadata(facts.details));
  return {
    ...facts.own,
    event,
    subscription,
    delivery,
    get data() {
      return data();
    },
    get headers() {
      return request().headers;
    },
    get query() {
      return request().query;
    },
    get metadata() {
      return metadata();
    },
  };
}

function once<Value>(read: () => Value): () => Value {
  let known: { value: Value } | undefined;
  return () => (known ??= { value: read() }).value;
}

interface Kept {
  headers?: unknown;
  query?: string;
  metadata?: unknown;
}

/** A body that claims to be JSON but is not is treated as text. */
function readData({ body, isJson }: SentFacts): unknown {
  if (!isJson) return body;
  try {
    return parseExactJson(body.replace(/^\ufeff/, ""));
  } catch {
    return body;
  }
}

function readMetadata(details: string | undefined): unknown {
  return details === undefined ? undefined : (parseExactJson(details) as Kept).metadata;
}

function readRequest(request: string | undefined): { headers: unknown; query: unknown } {
  if (request === undefined) return { headers: undefined, query: undefined };
  const { headers, query = "" } = JSON.parse(request) as Kept;
  return { headers, query: parseQuery(query) };
}

/** A number that JavaScript would write differently than its sender did: beyond 2^53, or `10.50`. */
export class ExactNumber extends Drop {
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
  override valueOf(): number {
    return Number(this.text);
  }
  override toString(): string {
    return this.text;
  }
}

/** A text or a number in a document that is known to be JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*/g;
/** Most documents have no such number, and are read only once. A match inside a text is possible. */
const MAY_DIFFER = /-0|[0-9]{16}|[0-9][.eE]/;
/** A prefix for numbers that are kept as texts for a moment. No sender can know it. */
const MARK = `${randomUUID()}:`;

/** Like JSON.parse, but keeps numbers as they were written. Throws for invalid JSON. */
function parseExactJson(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (!MAY_DIFFER.test(text)) return plain;
  let isMarked = false;
  const marked = text.replace(TOKEN, (token) => {
    if (token.startsWith('"') || String(Number(token)) === token) return token;
    isMarked = true;
    return `"${MARK}${token}"`;
  });
  if (!isMarked) return plain;
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

/** Like JSON.stringify, but writes numbers as they were written; undefined becomes null. */
export function writeExactJson(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (value instanceof Drop) return writeExactJson(value.valueOf());
  if (Array.isArray(value)) return `[${value.map(writeExactJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${writeExactJson(member)}`)
    .join(",")}}`;
}
