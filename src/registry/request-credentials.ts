import type { SecretBox } from "./secret-box.ts";

/** Credentials of a received request that are to be handed on: kept with it, but sealed. */
export interface RequestCredentials {
  seal(event: { id: string; tenantId: string }, credentials: Readonly<Record<string, string>>): string;
  open(event: { id: string; tenantId: string }, sealed: string): Readonly<Record<string, string>>;
}

export function createRequestCredentials(box: SecretBox): RequestCredentials {
  return {
    seal: (event, credentials) => Buffer.from(box.seal(JSON.stringify(credentials), ownerOf(event))).toString("base64"),
    open: (event, sealed) =>
      JSON.parse(box.open(Buffer.from(sealed, "base64"), ownerOf(event))) as Record<string, string>,
  };
}

function ownerOf({ id, tenantId }: { id: string; tenantId: string }): string {
  return `event/${tenantId}/${id}/request`;
}
