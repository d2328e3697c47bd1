import type { ClaimCheck } from "../queues/claim-check.ts";
import type { Claim } from "../queues/message-schema.ts";

/** The body that a message refers to. */
export interface ClaimedBody {
  read(): Promise<{ body: Buffer } | { problem: string }>;
  /**
   * Called when the message is settled. Deletes only what was read and is what the message claims: whoever may write to
   * a queue may name any body of the container, also one that another message needs.
   */
  remove(): Promise<void>;
}

export type Claims = Pick<ClaimCheck, "read" | "removeUnchanged">;

export function createClaimedBody(claim: Claim, claims: Claims): ClaimedBody {
  let etag: string | undefined;

  async function read(): ReturnType<ClaimedBody["read"]> {
    const found = await claims.read(claim);
    if ("etag" in found) ({ etag } = found);
    return found;
  }

  return {
    read,
    async remove() {
      // The message of an event that was stored before is settled without its body.
      if (etag === undefined) await read();
      if (etag !== undefined) await claims.removeUnchanged({ name: claim.blob, etag });
    },
  };
}
