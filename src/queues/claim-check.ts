import { createHash } from "node:crypto";
import type { ContainerClient } from "@azure/storage-blob";
import type { BrokerKind } from "../model/connection.ts";
import { openBlobService, describeAccount, type StorageAccount } from "./azure-storage-queue/storage-account.ts";
import { toStorageFault } from "./azure-storage-queue/storage-fault.ts";
import type { Claim } from "./message-schema.ts";

/** Stores bodies that are too large for a queue in Blob storage; the message names its body. */
export interface ClaimCheck {
  /** Putting the same name again replaces the body: a message that is sent again has one body. */
  put(name: string, body: Uint8Array, owner: BodyOwner): Promise<Claim>;
  /** The body, if it is the claimed one, or why there is none. */
  read(claim: Claim): Promise<{ body: Buffer; etag: string } | { problem: string }>;
  /** Lists up to `max` stored bodies, from the first one or after `after`. */
  list(max: number, after?: string): Promise<{ bodies: PutBody[]; next: string | undefined }>;
  /** False when the body was put again meanwhile, or is deleted. */
  removeUnchanged(body: Pick<PutBody, "name" | "etag">): Promise<boolean>;
}

/** The owner of a body: its message can be found by this. */
export interface BodyOwner {
  /** The store that put the body. */
  origin: string;
  deliveryId: string;
  /** The queue of its message. */
  broker: BrokerKind;
  connection: string;
  queue: string;
}

export interface PutBody {
  readonly name: string;
  /** Undefined when another program put it. */
  readonly owner: BodyOwner | undefined;
  /** Unix ms. */
  readonly putAt: number;
  readonly etag: string;
}

export interface ClaimCheckOptions {
  account: StorageAccount;
  container: string;
  /** Limit for reading a body: the size that a message claims is not trusted. */
  maxBytes: number;
}

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
    async put(name, body, { deliveryId, ...owner }) {
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const metadata = { ...owner, delivery: deliveryId };
      await call((client) => client.getBlockBlobClient(name).uploadData(bytes, { metadata }));
      return { container, blob: name, size: bytes.length, sha256: digest(bytes) };
    },
    async read(claim) {
      if (claim.container !== container)
        return { problem: `The message claims a body in another container, ${claim.container}.` };
      if (claim.size > maxBytes)
        return { problem: `The message claims a body of ${claim.size} bytes; the maximum is ${maxBytes}.` };
      const found = await call(async (client) => {
        const blob = client.getBlockBlobClient(claim.blob);
        if (!(await blob.exists())) return undefined;
        const { contentLength = 0, etag = "" } = await blob.getProperties();
        // The claimed size was checked; the stored body may be larger.
        const body = contentLength === claim.size ? await readWhole(blob, claim.size) : Buffer.alloc(0);
        return { body, etag };
      });
      if (found === undefined) return { problem: "The body that the message claims does not exist." };
      if (found.body.length !== claim.size || digest(found.body) !== claim.sha256) {
        return { problem: "The body that the message claims is not the one that was stored." };
      }
      return found;
    },
    list: (max, after) =>
      call(async (client) => {
        const pages = client
          .listBlobsFlat({ includeMetadata: true })
          .byPage({ maxPageSize: max, ...(after !== undefined && { continuationToken: after }) });
        for await (const { segment, continuationToken: next = "" } of pages) {
          const bodies = segment.blobItems.map(({ name, metadata, properties }) => ({
            name,
            owner: readOwner(metadata),
            putAt: Number(properties.lastModified),
            etag: properties.etag,
          }));
          return { bodies, next: next === "" ? undefined : next };
        }
        return { bodies: [], next: undefined };
      }),
    async removeUnchanged({ name, etag }) {
      return call(async (client) => {
        try {
          const { succeeded } = await client.getBlockBlobClient(name).deleteIfExists({ conditions: { ifMatch: etag } });
          return succeeded;
        } catch (error) {
          if ((error as { statusCode?: number }).statusCode === 412) return false;
          throw error;
        }
      });
    },
  };
}

function readOwner(metadata: Readonly<Record<string, string>> = {}): BodyOwner | undefined {
  const { origin, delivery: deliveryId, broker, connection, queue } = metadata;
  if (origin === undefined || deliveryId === undefined || connection === undefined || queue === undefined) {
    return undefined;
  }
  const isKnown = broker === "azure-service-bus" || broker === "azure-storage-queue";
  return isKnown ? { origin, deliveryId, broker, connection, queue } : undefined;
}

/** The package cannot download an empty body. */
async function readWhole(blob: { downloadToBuffer(): Promise<Buffer> }, size: number): Promise<Buffer> {
  return size === 0 ? Buffer.alloc(0) : blob.downloadToBuffer();
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

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
