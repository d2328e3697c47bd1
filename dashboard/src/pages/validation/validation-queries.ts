import { queryOptions } from "@tanstack/react-query";
import { ApiError, request, sendJson } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { Validation, ValidationTryOut, ValidationVersion } from "../../api/types.ts";

export type Format = Validation["format"];

/** What the API takes and gives documents as. */
const CONTENT_TYPES: Readonly<Record<Format, string>> = { json: "application/json", xsd: "application/xml" };

const pathOf = (endpoint: string) => `/validations/${encodeURIComponent(endpoint)}`;

export const validationsQuery = () => pagedQuery<Validation>("validations", "/validations");

export const versionsQuery = (endpoint: string) =>
  pagedQuery<ValidationVersion>("validations", `${pathOf(endpoint)}/versions`, {});

export interface LoadedDocument {
  thing: string;
  etag: string | undefined;
}

async function loadDocument(endpoint: string, query: { format?: Format; version?: number }, signal: AbortSignal) {
  const { text, headers } = await request("GET", pathOf(endpoint), { query, signal });
  return { thing: text, etag: headers.get("etag") ?? undefined };
}

/** As it was given, with its spaces and numbers; null where there is none. */
export const documentQuery = (endpoint: string, format: Format) =>
  queryOptions({
    queryKey: ["validations", "document", endpoint, format],
    queryFn: ({ signal }): Promise<LoadedDocument | null> =>
      loadDocument(endpoint, { format }, signal).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
  });

/** A version never changes. */
export const versionQuery = (endpoint: string, version: number) =>
  queryOptions({
    queryKey: ["validation-version", endpoint, version],
    queryFn: ({ signal }): Promise<LoadedDocument> => loadDocument(endpoint, { version }, signal),
    staleTime: Infinity,
  });

/** On top of the version that was read; where there was none, only if there still is none. */
export async function putDocument(endpoint: string, format: Format, text: string, etag: string | undefined) {
  const condition = etag === undefined ? { "if-none-match": "*" } : { "if-match": etag };
  const headers = { "content-type": CONTENT_TYPES[format], ...condition };
  await request("PUT", pathOf(endpoint), { body: text, headers });
}

export function rollBack(endpoint: string, version: number): Promise<{ version: number }> {
  return sendJson("POST", `${pathOf(endpoint)}/rollback`, { version });
}

export function deleteDocument(endpoint: string, format: Format): Promise<unknown> {
  return sendJson("DELETE", `${pathOf(endpoint)}?format=${format}`);
}

/** By what is in force. */
export async function tryPayload(endpoint: string, format: Format, payload: string): Promise<ValidationTryOut> {
  const headers = { "content-type": CONTENT_TYPES[format] };
  const { text } = await request("POST", `${pathOf(endpoint)}/test`, { body: payload, headers });
  return JSON.parse(text) as ValidationTryOut;
}

/** By a document that is not saved; both are sent as the texts that they are. */
export async function tryDraft(
  endpoint: string,
  format: Format,
  draft: string,
  payload: string,
): Promise<ValidationTryOut> {
  const [validation, given] = format === "json" ? [draft, payload] : [JSON.stringify(draft), JSON.stringify(payload)];
  const body = `{"validation":${validation},"payload":${given}}`;
  const { text } = await request("POST", `${pathOf(endpoint)}/test`, { query: { envelope: true }, body });
  return JSON.parse(text) as ValidationTryOut;
}
