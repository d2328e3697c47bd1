/** What is kept of a request, with the event that it made or in the log of those that made none: JSON, secrets masked. */
export interface KeptRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remote_address: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Credentials that are to be handed on. */
  readonly sealed?: string | undefined;
}

export function writeKeptRequest(request: KeptRequest): string {
  return JSON.stringify(request);
}

/** Earlier gateways may have kept less. */
export function readKeptRequest(text: string): Partial<KeptRequest> {
  return JSON.parse(text) as Partial<KeptRequest>;
}

/** Without reading it: it may be long. */
export function addSealed(text: string, sealed: string): string {
  return `${text.slice(0, -1)},"sealed":${JSON.stringify(sealed)}}`;
}
