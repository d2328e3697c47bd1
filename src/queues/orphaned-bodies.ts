import type { ClaimCheck, PutBody } from "./claim-check.ts";
import { BrokerFault } from "./broker-fault.ts";
import type { Connections } from "./connections.ts";

/**
 * Deletes bodies in Blob storage that no message needs any more. A body is deleted only when all of this is true: this
 * store put it, long enough ago; its delivery has ended here; its queue and the queue for parked messages were read
 * completely, and no message names it. A queue that cannot be read counts as if it named all bodies.
 */
export interface OrphanSweep {
  /** Continues where the last call ended, with up to `max` bodies. */
  next(max: number): Promise<Swept>;
}

export interface Swept {
  deleted: number;
  /** Old enough to be deleted, but needed or perhaps needed. */
  kept: number;
  /** The end of the container was reached. */
  isEnd: boolean;
}

export interface OrphanSweepOptions {
  claims: Pick<ClaimCheck, "list" | "removeUnchanged">;
  connections: Pick<Connections, "find">;
  /** The id of this store: bodies of other stores are not touched. */
  origin: string;
  /** Unix ms. */
  putBefore: number;
  /** Whether the delivery has ended or was deleted. */
  hasEnded: (deliveryId: string) => Promise<boolean>;
}

export function createOrphanSweep(options: OrphanSweepOptions): OrphanSweep {
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
    async next(max) {
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
