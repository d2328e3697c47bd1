import type { FilterFacts } from "../model/filter.ts";
import { FilterTooCostly } from "../model/filter-operators.ts";
import { hasTooManyParts, mayBeJson } from "../model/json.ts";
import { readKeptRequest, type KeptRequest } from "../model/event.ts";
import { parseQuery } from "../model/addresses.ts";

/** The parts of an event that filters look at. New events and stored ones both have them. */
export interface FilteredEvent {
  type: string;
  source: string;
  tenantId: string;
  priority: string;
  contentType: string | undefined;
  /** JSON texts, as the store keeps them. */
  request: string | undefined;
  details: string | undefined;
  body: Uint8Array | undefined;
}

/** Parses each part once, when a filter first asks for it. */
export function createFilterFacts(event: FilteredEvent): FilterFacts {
  let data: { value: unknown } | undefined;
  let request: Partial<KeptRequest> | undefined;
  let query: { value: unknown } | undefined;
  let metadata: { value: unknown } | undefined;
  const readRequest = () => (request ??= event.request === undefined ? {} : readKeptRequest(event.request));
  return {
    event_type: event.type,
    source: event.source,
    tenant_id: event.tenantId,
    priority: event.priority,
    get data() {
      const { value } = (data ??= { value: parseBody(event) });
      if (value === TOO_MANY_PARTS) throw TOO_MANY_PARTS;
      return value;
    },
    get headers() {
      return readRequest().headers;
    },
    get query() {
      const { query: text } = readRequest();
      return (query ??= { value: text === undefined ? undefined : parseQuery(text) }).value;
    },
    get metadata() {
      return (metadata ??= { value: parseMetadata(event.details) }).value;
    },
  };
}

function parseMetadata(details: string | undefined): unknown {
  return details === undefined ? undefined : (JSON.parse(details) as { metadata?: unknown }).metadata;
}

const TOO_MANY_PARTS = new FilterTooCostly("The body has too many parts to be read for a filter.");

/** A body that is not JSON has no data. */
function parseBody({ body, contentType }: FilteredEvent): unknown {
  if (body === undefined) return undefined;
  if (!mayBeJson(contentType)) return undefined;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (hasTooManyParts(bytes, MAX_PARTS)) return TOO_MANY_PARTS;
  try {
    // A byte order mark is not JSON, but senders send it.
    return JSON.parse(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

const MAX_PARTS = 150_000;
