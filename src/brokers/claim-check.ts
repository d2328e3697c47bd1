import { createHash } from "node:crypto";
import type { ContainerClient } from "@azure/storage-blob";
import { openBlobService, describeAccount, type StorageAccount } from "./azure-storage-queue/storage-account.ts";
import { toStorageFault } from "./azure-storage-queue/storage-fault.ts";
import type { Claim } from "./message-schema.ts";

/** Bodies that are too large for a queue lie in Blob storage, and the message says which one is its own. */
export interface ClaimCheck {
  /** The same name again replaces what was there: a message that is sent again has one body. */
  put(name: string, body: Uint8Array): Promise<Claim>;
  /** Once the message is in its queue. What never got that far is an orphan. */
  confirm(claim: Claim): Promise<void>;
  /** The body, if it is the one that was claimed, or why there is none. */
  read(claim: Claim): Promise<{ body: Buffer } | { problem: string }>;
  /** By whoever settles the message. Nothing happens when it is gone already. */
  remove(claim: Claim): Promise<void>;
  /** Deletes orphans that were put before that time (unix ms); says how many. */
  sweep(putBefore: number): Promise<number>;
}

export interface ClaimCheckOptions {
  account: StorageAccount;
  container: string;
  /** Of a body that is read: what a message claims is not believed. */
  maxBytes: number;
}

const UNSENT = { posthorn: "unsent" };
const SENT = { posthorn: "sent" };

export function createClaimCheck({ account, container, maxBytes }: ClaimCheckOptions): ClaimCheck {
  const place = describeAccount(account);
  let opening: Promise<ContainerClient> | undefined;

  async function open(): Promise<ContainerClient> {
    const client = (await openBlobService(account)).getContainerClient(container);
    await client.createIfNotExists();
    return client;
  }

  async function call<Result>(act: (client: ContainerClient) => Promise<Result>): Promise<Result> {
    opening ??= open();
    try {
      return await act(await opening);
    } catch (error) {
      opening = undefined;
      throw toStorageFault(error, place);
    }
  }

  return {
    async put(name, body) {
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      await call((client) => client.getBlockBlobClient(name).uploadData(bytes, { metadata: UNSENT }));
      return { container, blob: name, size: bytes.length, sha256: digest(bytes) };
    },
    async confirm({ blob }) {
      await call((client) => client.getBlockBlobClient(blob).setMetadata(SENT));
    },
    async read(claim) {
      if (claim.container !== container)
        return { problem: `It claims a body in another container, ${claim.container}.` };
      if (claim.size > maxBytes) return { problem: `It claims a body of ${claim.size} bytes; ${maxBytes} are taken.` };
      const found = await call(async (client) => {
        const blob = client.getBlockBlobClient(claim.blob);
        if (!(await blob.exists())) return undefined;
        const { contentLength = 0 } = await blob.getProperties();
        // What it claims was judged; what lies there may be larger.
        return contentLength === claim.size ? readWhole(blob, claim.size) : Buffer.alloc(0);
      });
      if (found === undefined) return { problem: "The body that it claims is not there." };
      if (found.length !== claim.size || digest(found) !== claim.sha256) {
        return { problem: "The body that it claims is not the one that was put there." };
      }
      return { body: found };
    },
    async remove({ container: claimed, blob }) {
      if (claimed === container) await call((client) => client.getBlockBlobClient(blob).deleteIfExists());
    },
    async sweep(putBefore) {
      return call(async (client) => {
        let count = 0;
        for await (const blob of client.listBlobsFlat({ includeMetadata: true })) {
          const isOrphan = blob.metadata?.["posthorn"] === UNSENT.posthorn;
          if (!isOrphan || Number(blob.properties.lastModified) >= putBefore) continue;
          // Not if it was put again meanwhile.
          const conditions = blob.properties.etag === undefined ? {} : { ifMatch: blob.properties.etag };
          await client.getBlockBlobClient(blob.name).deleteIfExists({ conditions });
          count++;
        }
        return count;
      });
    },
  };
}

/** The package cannot download nothing. */
async function readWhole(blob: { downloadToBuffer(): Promise<Buffer> }, size: number): Promise<Buffer> {
  return size === 0 ? Buffer.alloc(0) : blob.downloadToBuffer();
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
