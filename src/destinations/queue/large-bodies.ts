import { createHmac, randomBytes } from "node:crypto";
import { createClaimCheck, type ClaimCheck } from "../../queues/claim-check.ts";
import { BrokerFault } from "../../queues/broker-fault.ts";
import type { Connections } from "../../queues/connections.ts";
import type { Attempt } from "../sender.ts";
import type { QueueDestination } from "./settings.ts";

/** Stores bodies that are too large for a queue in Blob storage. */
export interface LargeBodies {
  /** Undefined when the destination has no claim check. Throws a BrokerFault when its connection is not configured. */
  find(destination: QueueDestination): ClaimCheck | undefined;
  /**
   * The same for all attempts of a delivery, until a restart; differs for a replay. Nobody can guess it from the
   * messages that they see.
   */
  nameOf(attempt: Attempt): string;
}

export function createLargeBodies(connections: Connections): LargeBodies {
  const known = new Map<string, ClaimCheck>();
  const nameKey = randomBytes(32);
  return {
    find({ claimCheck }) {
      if (claimCheck === undefined) return undefined;
      const { connection, container } = claimCheck;
      const key = `${connection} ${container}`;
      let check = known.get(key);
      if (check === undefined) {
        const account = connections.findAccount(connection);
        if (account === undefined) throw noConnection("azure-storage-queue", connection);
        known.set(key, (check = createClaimCheck({ account, container, maxBytes: Number.MAX_SAFE_INTEGER })));
      }
      return check;
    },
    nameOf({ deliveryId, generation }) {
      return createHmac("sha256", nameKey).update(`${deliveryId}\0${generation}`).digest("base64url");
    },
  };
}

export function noConnection(kind: string, name: string): BrokerFault {
  return new BrokerFault(
    "unreachable",
    `There is no connection "${name}" of the kind ${kind}; add it under \`connections\`.`,
  );
}
