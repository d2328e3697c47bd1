import { createHash } from "node:crypto";
import type { ContainerClient } from "@azure/storage-blob";
import type { BrokerKind } from "../model/connection.ts";
import {
  openBlobService,
  describeAccount,
  type StorageAccount,
  toStorageFault,
} from "./azure-storage-queue/storage-account.ts";
import type { Claim } from "./message.ts";
import { BrokerFault } from "./broker-fault.ts";
import type { Connections } from "./connections.ts";

export type ClaimCheck = ReturnType<typeof createClaimCheck>;

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

interface ClaimCheckOptions {
  account: StorageAccount;
  container: string;
  /** Limit for reading a body: the size that a message claims is not trusted. */
  maxBytes: number;
}

/** Stores bodies that are too large for a queue in Blob storage; the message names its body. */
export function createClaimCheck({ account, container, maxBytes }: ClaimCheckOptions) {
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
    /** Putting the same name again replaces the body: a message that is sent again has one body. */
    async put(name: string, body: Uint8Array, { deliveryId, ...owner }: BodyOwner): Promise<Claim> {
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const metadata = { ...owner, delivery: deliveryId };
      await call((client) => client.getBlockBlobClient(name).uploadData(bytes, { metadata }));
      return { container, blob: name, size: bytes.length, sha256: digest(bytes) };
    },
    /** The body, if it is the claimed one, or why there is none. */
    async read(claim: Claim): Promise<{ body: Buffer; etag: string } | { problem: string }> {
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
    /** Lists up to `max` stored bodies, from the first one or after `after`. */
    list: (max: number, after?: string): Promise<{ bodies: PutBody[]; next: string | undefined }> =>
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
    /** False when the body was put again meanwhile, or is deleted. */
    async removeUnchanged({ name, etag }: Pick<PutBody, "name" | "etag">): Promise<boolean> {
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

export type Claims = Pick<ClaimCheck, "read" | "removeUnchanged">;

export type ClaimedBody = ReturnType<typeof createClaimedBody>;

/** The body that a message refers to. */
export function createClaimedBody(claim: Claim, claims: Claims) {
  let etag: string | undefined;

  async function read(): Promise<{ body: Buffer } | { problem: string }> {
    const found = await claims.read(claim);
    if ("etag" in found) ({ etag } = found);
    return found;
  }

  return {
    read,
    /**
     * Called when the message is settled. Deletes only what was read and is what the message claims: whoever may write
     * to a queue may name any body of the container, also one that another message needs.
     */
    async remove(): Promise<void> {
      // The message of an event that was stored before is settled without its body.
      if (etag === undefined) await read();
      if (etag !== undefined) await claims.removeUnchanged({ name: claim.blob, etag });
    },
  };
}

interface OrphanSweepOptions {
  claims: Pick<ClaimCheck, "list" | "removeUnchanged">;
  connections: Pick<Connections, "find">;
  /** The id of this store: bodies of other stores are not touched. */
  origin: string;
  /** Unix ms. */
  putBefore: number;
  /** Whether the delivery has ended or was deleted. */
  hasEnded: (deliveryId: string) => Promise<boolean>;
}

export type OrphanSweep = ReturnType<typeof createOrphanSweep>;

/**
 * Deletes bodies in Blob storage that no message needs any more. A body is deleted only when all of this is true: this
 * store put it, long enough ago; its delivery has ended here; its queue and the queue for parked messages were read
 * completely, and no message names it. A queue that cannot be read counts as if it named all bodies.
 */
export function createOrphanSweep(options: OrphanSweepOptions) {
  const { claims, connections, origin, putBefore, hasEnded } = options;
  let after: string | undefined;

  async function see({ broker, connection, queue }: Owner): Promise<readonly Buffer[] | undefined> {
    const found = connections.find(broker, connection);
    if (found === undefined) return undefined;
    const seen: Buffer[] = [];
    try {
      // A message that is parked or requeued is copied before it is removed: so one that moves meanwhile is still seen.
      for (const where of ["parked", "waiting", "parked"] as const) {
        const messages = await found.seeAll(queue, where);
        if (messages === undefined) return undefined;
        seen.push(...messages);
      }
    } catch (error) {
      if (error instanceof BrokerFault) return undefined;
      throw error;
    }
    return seen;
  }

  async function listOld(bodies: readonly PutBody[]): Promise<Owned[]> {
    const old = bodies.filter((body): body is Owned => body.owner?.origin === origin && body.putAt < putBefore);
    const ended: Owned[] = [];
    for (const body of old) if (await hasEnded(body.owner.deliveryId)) ended.push(body);
    return ended;
  }

  return {
    /**
     * Continues where the last call ended, with up to `max` bodies. `kept`: old enough to be deleted, but needed or
     * perhaps needed; `isEnd`: the end of the container was reached.
     */
    async next(max: number): Promise<{ deleted: number; kept: number; isEnd: boolean }> {
      const { bodies, next } = await claims.list(max, after);
      after = next;
      const places = new Map<string, Owned[]>();
      for (const body of await listOld(bodies)) {
        const { broker, connection, queue } = body.owner;
        const key = JSON.stringify([broker, connection, queue]);
        places.set(key, [...(places.get(key) ?? []), body]);
      }
      let [deleted, kept] = [0, 0];
      for (const of of places.values()) {
        // After the bodies were listed: messages that are sent later have other bodies.
        const messages = await see((of[0] as Owned).owner);
        for (const body of of) {
          const isOrphan = messages?.some((message) => message.includes(body.name)) === false;
          if (isOrphan && (await claims.removeUnchanged(body))) deleted++;
          else kept++;
        }
      }
      return { deleted, kept, isEnd: next === undefined };
    },
  };
}

type Owned = PutBody & { owner: NonNullable<PutBody["owner"]> };
type Owner = Owned["owner"];
