/**
 * The stored part of a request, as JSON with masked secrets: kept with the event that it created, or in the request log
 * if it created none.
 */
export interface KeptRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remote_address: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Encrypted credentials that are passed on to the destination. */
  readonly sealed?: string | undefined;
}

export function writeKeptRequest(request: KeptRequest): string {
  return JSON.stringify(request);
}

export function readKeptRequest(text: string): KeptRequest {
  return JSON.parse(text) as KeptRequest;
}

/** Appends to the text without parsing it, because it may be long. */
export function addSealed(text: string, sealed: string): string {
  return `${text.slice(0, -1)},"sealed":${JSON.stringify(sealed)}}`;
}
