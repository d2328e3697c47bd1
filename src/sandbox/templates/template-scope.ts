import { parseQuery } from "../../model/addresses.ts";
import { parseExactJson } from "./exact-json.ts";

/** The facts of a delivery for a thread: texts, which are cheap to pass. */
export interface SentFacts {
  readonly event: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly isJson: boolean;
  readonly request: string | undefined;
  readonly details: string | undefined;
  readonly subscription: { readonly id: string; readonly name: string } | undefined;
  readonly delivery: { readonly id: string; readonly attempt: number } | undefined;
  readonly own?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
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
